import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CloudFormationClient, DescribeStacksCommand, type Output } from '@aws-sdk/client-cloudformation';
import { deploymentFolder, readDeployment } from '../../settings/deployment-file.ts';
import { pinName, pinnedValue, pins } from '../../settings/pins.ts';
import { versionOutput } from '../../version.ts';

/**
 * Reads a deployed stack's version, and its faults, as far as CloudFormation knows: an update that failed, or a stack that
 * was production and has lost its protection, or one that keeps other settings than its file has.
 * @returns the version of the deployed code, undefined before 1.0.0, and what is wrong
 */
export async function lookAtStack(StackName: string, folder = deploymentFolder) {
  const client = new CloudFormationClient({});
  try {
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName }));
    const status = String(stack?.StackStatus);
    const stage = stack?.Parameters?.find(
      ({ ParameterKey }) => ParameterKey === 'PinnedStage',
    )?.ParameterValue;
    const problems = pinProblems(StackName, stack?.Outputs ?? [], folder);
    if (stage === 'production' && !stack?.EnableTerminationProtection)
      problems.unshift('The stack is production but has no termination protection: deploy it again.');
    if (!/^(CREATE|UPDATE)_COMPLETE$/.test(status))
      problems.unshift(
        `The stack is in the state ${status}: its last deployment hasn't ended, or has failed.`,
      );
    const version = stack?.Outputs?.find(({ OutputKey }) => OutputKey === versionOutput)?.OutputValue;
    return { version, problems };
  } catch (error) {
    return {
      version: undefined,
      problems: [`The stack can't be checked: ${error instanceof Error ? error.message : error}`],
    };
  } finally {
    client.destroy();
  }
}

/**
 * Differences between the settings that a stack keeps and those of its file. A stack without a file has nothing to be compared with.
 * @throws SettingsError when the file is wrong
 */
function pinProblems(stack: string, outputs: Output[], folder: string): string[] {
  const kept = new Map(outputs.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
  const missing = pins.filter((pin) => !kept.has(`${pinName(pin)}Value`));
  const unkept = `The stack doesn't keep ${missing.join(', ')}: deploy it once more, without change.`;
  const problems = missing.length > 0 ? [unkept] : [];
  const file = `${stack}.json`;
  if (!existsSync(join(folder, file))) return problems;
  const settings = readDeployment({ deployment: stack }, folder);
  for (const pin of pins) {
    const value = kept.get(`${pinName(pin)}Value`);
    const own = pinnedValue(settings, pin);
    if (value !== undefined && value !== own)
      problems.push(`The stack was deployed with ${pin} ${value}, but deployments/${file} says ${own}.`);
  }
  return problems;
}
