import * as v from 'valibot';
import { formatProblem, recordFormat } from '../storage/table-format.ts';
import { answerCloudFormation } from './cloudformation.ts';

const numbersIn = (list: string): number[] => list.split(',').map(Number);

const propertiesSchema = v.object({
  /** `check` comes before the new code gets requests, `record` after it. */
  Step: v.picklist(['check', 'record']),
  /**
   * The formats that the deployed version reads. They can differ from those of this code: after a
   * refused deployment, CloudFormation repeats the step with the properties of the version before.
   */
  Format: v.pipe(v.string(), v.transform(numbersIn)),
});

/**
 * A custom resource that stops a deployment whose version cannot read the table, and another one
 * that records the format that the code writes.
 * @throws any other error: Lambda then tries again twice, which a role that is just being created
 *   may need
 */
export const guardTableFormat = (event: unknown): Promise<void> =>
  answerCloudFormation(event, async (properties) => {
    const { Step, Format: formats } = v.parse(propertiesSchema, properties);
    if (Step === 'check') return formatProblem(formats);
    await recordFormat();
    return undefined;
  });
