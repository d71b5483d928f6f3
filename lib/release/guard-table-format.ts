import * as v from 'valibot';
import { formatProblem, recordFormat } from '../storage/table-format.ts';
import { answerCloudFormation } from './cloudformation.ts';

const propertiesSchema = v.object({
  /** `check` comes before the new code gets requests, `record` after it. */
  Step: v.picklist(['check', 'record']),
  /**
   * Formats that the version reads which this step of a deployment belongs to. They are not always those of this code: when a
   * deployment is refused, CloudFormation repeats the step with the properties of the version before.
   */
  Format: v.pipe(
    v.string(),
    v.transform((list) => list.split(',').map(Number)),
  ),
});

/**
 * A custom resource that lets a deployment go on only if its version can read the table, and one that notes the format in
 * which the code writes. Any other error is thrown: Lambda then tries again twice, which a role that is new may need.
 */
export const guardTableFormat = (event: unknown): Promise<void> =>
  answerCloudFormation(event, async (properties) => {
    const { Step, Format: formats } = v.parse(propertiesSchema, properties);
    if (Step === 'check') return formatProblem(formats);
    await recordFormat();
    return undefined;
  });
