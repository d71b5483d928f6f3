import { GetAliasCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { requestTimeouts } from '../foundation/aws-client.ts';
import { forEachInBatches } from '../storage/batches.ts';
import { cloudFormation, isUpdating } from './cloudformation.ts';
import { readStackAliases } from './stack-aliases.ts';

const lambda = new LambdaClient(requestTimeouts(5, 5_000));

/** Functions in a reason, which CloudFormation cuts when it is too long. */
const mostShown = 5;

/**
 * The reason why the canary of an update can't begin, if it can't. CodeDeploy rejects an alias that
 * leads to another version than CloudFormation deployed last, and the rollback would make that
 * version live, which an operator has taken back.
 */
export async function movedProblem(stackId: string): Promise<string | undefined> {
  if (!(await isUpdating(stackId))) return undefined;
  const moved: string[] = [];
  await forEachInBatches(await readStackAliases(cloudFormation, stackId), async (alias) => {
    const { key, functionName: FunctionName, name: Name, deployed } = alias;
    const { FunctionVersion } = await lambda.send(new GetAliasCommand({ FunctionName, Name }));
    if (deployed !== undefined && Number(FunctionVersion) !== deployed)
      moved.push(`${key} (${FunctionVersion} instead of ${deployed})`);
  });
  if (moved.length === 0) return undefined;
  const [, stack] = stackId.split('/');
  const shown = moved.toSorted().slice(0, mostShown).join(', ');
  const more = moved.length > mostShown ? ` and ${moved.length - mostShown} more` : '';
  return [
    `Other versions are live than those deployed last, as after release back: ${shown}${more}.`,
    'Nothing was changed.',
    'Deploy again with -c canary=false, and then run:',
    `npm run -s operator -- release forward --stack ${stack}`,
  ].join(' ');
}
