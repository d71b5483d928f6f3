import {
  type CloudFormationClient,
  paginateListStackResources,
} from '@aws-sdk/client-cloudformation';

/** The alias by which a function of an endpoint is called, as a stack has it. */
export interface StackAlias {
  /** The name of the function's file in `functions/`. */
  key: string;
  functionName: string;
  name: string;
  updatedAt: Date | undefined;
  /** The number of the version that CloudFormation deployed last, if the stack has one. */
  deployed: number | undefined;
}

/** The aliases of a stack, and the versions that CloudFormation believes them to lead to. */
export async function readStackAliases(
  client: CloudFormationClient,
  StackName: string,
): Promise<StackAlias[]> {
  const pages = await Array.fromAsync(paginateListStackResources({ client }, { StackName }));
  const resources = pages.flatMap(({ StackResourceSummaries = [] }) => StackResourceSummaries);
  const ofType = (type: string) => resources.filter(({ ResourceType }) => ResourceType === type);
  const deployed = new Map(
    ofType('AWS::Lambda::Version').map(({ PhysicalResourceId }) =>
      qualifiedName(PhysicalResourceId),
    ),
  );
  return ofType('AWS::Lambda::Alias').map((alias) => {
    const [functionName, name] = qualifiedName(alias.PhysicalResourceId);
    const version = deployed.get(functionName);
    return {
      key: functionKeyOf(alias.LogicalResourceId),
      functionName,
      name,
      updatedAt: alias.LastUpdatedTimestamp,
      deployed: version === undefined ? undefined : Number(version),
    };
  });
}

/**
 * The function's name and the version or alias in an ARN:
 * `arn:aws:lambda:REGION:ACCOUNT:function:NAME:live`
 */
function qualifiedName(arn = ''): [name: string, qualifier: string] {
  const [name = '', qualifier = ''] = arn.split(':').slice(-2);
  return [name, qualifier];
}

/**
 * The key of a function, by the logical id of its alias: `IssueTokenLive` belongs to `issue-token`.
 */
const functionKeyOf = (logicalId = ''): string =>
  logicalId
    .replace(/Live$/, '')
    .replaceAll(/(?<!^)[A-Z]/g, '-$&')
    .toLowerCase();
