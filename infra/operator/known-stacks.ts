import { CloudFormationClient, paginateListStacks, type StackStatus } from '@aws-sdk/client-cloudformation';
import { localFiles, runningStack } from '../local/local-files.ts';
import { stackDescription } from '../stack/description.ts';
import { explainAwsFailure } from './target.ts';

/** Milliseconds for which AWS is asked. */
const patience = 5_000;
const states: StackStatus[] = [
  'CREATE_COMPLETE',
  'UPDATE_COMPLETE',
  'UPDATE_IN_PROGRESS',
  'UPDATE_COMPLETE_CLEANUP_IN_PROGRESS',
  'UPDATE_ROLLBACK_COMPLETE',
  'UPDATE_ROLLBACK_FAILED',
  'IMPORT_COMPLETE',
];

/** Advice to those who named no stack: the ones that they could mean. */
export async function whichStack(): Promise<string> {
  const [here, deployed] = await Promise.all([runningStack(localFiles()), explainDeployed()]);
  const local = here
    ? `--local is the one at ${here.url}`
    : `--local would be the one with its files in ${localFiles().directory}, which is not running`;
  return `Name the stack, with --local or --stack NAME; nothing was changed. ${local}. ${deployed}`;
}

async function explainDeployed(): Promise<string> {
  const client = new CloudFormationClient({ maxAttempts: 1 });
  const names: string[] = [];
  const abortSignal = AbortSignal.timeout(patience);
  const pages = paginateListStacks({ client }, { StackStatusFilter: states }, { abortSignal });
  try {
    for await (const { StackSummaries = [] } of pages) {
      const ours = StackSummaries.filter((stack) => stack.TemplateDescription === stackDescription);
      names.push(...ours.flatMap(({ StackName }) => StackName ?? []));
    }
    if (names.length === 0) return 'This AWS account and region have no stack of the service.';
    return `Deployed in this AWS account and region: ${names.toSorted().join(', ')}.`;
  } catch (error) {
    return `AWS could not be asked which are deployed. ${explainAwsFailure(Object(error))}`;
  } finally {
    client.destroy();
  }
}
