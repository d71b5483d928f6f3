import * as v from 'valibot';
import { formatProblem, recordFormat } from '../storage/table-format.ts';
import { answerCloudFormation } from './cloudformation.ts';
import { movedProblem } from './moved-aliases.ts';

const numbersIn = (list: string): number[] => list.split(',').map(Number);

const propertiesSchema = v.object({
  /** `check` comes before the new code gets requests, `record` after it. */
  Step: v.picklist(['check', 'record']),
  /**
   * The formats that the deployed version reads. They can differ from those of this code: after a
   * refused deployment, CloudFormation repeats the step with the properties of the version before.
   */
  Format: v.pipe(v.string(), v.transform(numbersIn)),
  /** Set when CodeDeploy moves the aliases, which must lead where CloudFormation left them. */
  LiveVersions: v.optional(v.literal('as deployed')),
});

/**
 * A custom resource that stops a deployment whose version cannot read the table, or whose canary
 * would begin at other versions than the live ones; and another one that records the format that
 * the code writes.
 * @throws any other error: Lambda then tries again twice, which a role that is just being created
 *   may need
 */
export const guardTableFormat = (event: unknown): Promise<void> =>
  answerCloudFormation(event, async (properties, stackId) => {
    const { Step, Format: formats, LiveVersions } = v.parse(propertiesSchema, properties);
    if (Step === 'check') {
      const problem = await formatProblem(formats);
      return problem ?? (LiveVersions && movedProblem(stackId));
    }
    await recordFormat();
    return undefined;
  });
