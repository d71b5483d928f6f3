import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';

/**
 * What is wrong with a deployed stack, as far as CloudFormation knows: an update that failed, or a stack that was
 * production and has lost its protection.
 */
export async function stackProblems(StackName: string): Promise<string[]> {
  const client = new CloudFormationClient({});
  try {
    const { Stacks: [stack] = [] } = await client.send(new DescribeStacksCommand({ StackName }));
    const status = String(stack?.StackStatus);
    const stage = stack?.Parameters?.find(
      ({ ParameterKey }) => ParameterKey === 'PinnedStage',
    )?.ParameterValue;
    return [
      ...(/^(CREATE|UPDATE)_COMPLETE$/.test(status)
        ? []
        : [`The stack is in the state ${status}: its last deployment hasn't ended, or has failed.`]),
      ...(stage === 'production' && !stack?.EnableTerminationProtection
        ? ['The stack is production but has no termination protection: deploy it again.']
        : []),
    ];
  } catch (error) {
    return [
      `CloudFormation can't be asked about the stack: ${error instanceof Error ? error.message : error}`,
    ];
  } finally {
    client.destroy();
  }
}
