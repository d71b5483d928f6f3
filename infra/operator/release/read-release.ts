import {
  CloudFormationClient,
  DescribeStacksCommand,
  paginateListStackResources,
  type StackResourceSummary,
} from '@aws-sdk/client-cloudformation';
import { GetAliasCommand, LambdaClient, paginateListVersionsByFunction } from '@aws-sdk/client-lambda';
import { forEachInBatches } from '../../../lib/storage/batches.ts';

/** A published version of a function. */
interface Version {
  number: number;
  publishedAt: Date;
  /** The table that it works on. */
  tableName: string | undefined;
}

/** A deployed function that serves an endpoint. */
export interface Served {
  /** The name of its file in `functions/`. */
  key: string;
  /** The name by which Lambda knows it. */
  name: string;
  /** The version to which its alias leads requests. */
  live: Version;
  /** The version before that, if there is one and it was retained. */
  before: Version | undefined;
  /** The version that CloudFormation deployed last. After `release back`, an earlier one is live. */
  deployed: Version;
  /** When CloudFormation last changed the alias. */
  deployedAt: Date | undefined;
  /** Whether a canary is under way: a second version gets a part of the requests. */
  isShifting: boolean;
  /** The state of the alias, which any change of it ends. */
  revisionId: string | undefined;
}

/** A deployed stack, and what is live in it. */
export interface Release {
  stack: string;
  /** `UPDATE_COMPLETE` */
  status: string;
  /** When its last deployment began. */
  begunAt: Date;
  functions: Served[];
}

/** Attempts of each call: those for all functions together can exceed Lambda's request limit. */
export const patiently = { maxAttempts: 8 };

/**
 * Reads from CloudFormation and Lambda what is live, since the functions themselves may be broken.
 * @throws the error of the SDK
 */
export async function readRelease(StackName: string): Promise<Release> {
  const cloudFormation = new CloudFormationClient(patiently);
  const lambda = new LambdaClient(patiently);
  try {
    const { Stacks: [stack] = [] } = await cloudFormation.send(new DescribeStacksCommand({ StackName }));
    const resources: StackResourceSummary[] = [];
    for await (const page of paginateListStackResources({ client: cloudFormation }, { StackName }))
      resources.push(...(page.StackResourceSummaries ?? []));
    const ofType = (type: string) => resources.filter(({ ResourceType }) => ResourceType === type);
    const deployed = new Map(
      ofType('AWS::Lambda::Version').map(({ PhysicalResourceId }) => qualifiedName(PhysicalResourceId)),
    );
    const functions: Served[] = [];
    await forEachInBatches(ofType('AWS::Lambda::Alias'), async (alias) => {
      functions.push(await readServed(lambda, alias, deployed));
    });
    return {
      stack: StackName,
      status: String(stack?.StackStatus),
      begunAt: stack?.LastUpdatedTime ?? stack?.CreationTime ?? new Date(0),
      functions: functions.toSorted((one, other) => one.key.localeCompare(other.key)),
    };
  } finally {
    cloudFormation.destroy();
    lambda.destroy();
  }
}

/** @param deployed the number of the version that CloudFormation deployed last, by the name of the function */
async function readServed(
  client: LambdaClient,
  alias: StackResourceSummary,
  deployed: ReadonlyMap<string, string>,
): Promise<Served> {
  const [name, Name] = qualifiedName(alias.PhysicalResourceId);
  const { FunctionVersion, RoutingConfig, RevisionId } = await client.send(
    new GetAliasCommand({ FunctionName: name, Name }),
  );
  const versions: Version[] = [];
  for await (const page of paginateListVersionsByFunction({ client }, { FunctionName: name })) {
    for (const { Version, LastModified = '', Environment } of page.Versions ?? []) {
      const tableName = Environment?.Variables?.TABLE_NAME;
      versions.push({ number: Number(Version), publishedAt: new Date(LastModified), tableName });
    }
  }
  const live = versions.find(({ number }) => number === Number(FunctionVersion));
  if (!live) throw new Error(`${name} has no version ${FunctionVersion}, which is live.`);
  const [before] = versions
    .filter(({ number }) => number < live.number)
    .toSorted((one, other) => other.number - one.number);
  return {
    key: keyOf(alias.LogicalResourceId),
    name,
    live,
    before,
    deployed: versions.find(({ number }) => number === Number(deployed.get(name))) ?? live,
    deployedAt: alias.LastUpdatedTimestamp,
    isShifting: Object.keys(RoutingConfig?.AdditionalVersionWeights ?? {}).length > 0,
    revisionId: RevisionId,
  };
}

/** The function's name and the version or alias in an ARN: `arn:aws:lambda:REGION:ACCOUNT:function:NAME:live` */
function qualifiedName(arn = ''): [name: string, qualifier: string] {
  const [name = '', qualifier = ''] = arn.split(':').slice(-2);
  return [name, qualifier];
}

/** The key of a function, by the logical id of its alias: `IssueTokenLive` belongs to `issue-token`. */
const keyOf = (logicalId = ''): string =>
  logicalId
    .replace(/Live$/, '')
    .replaceAll(/(?<!^)[A-Z]/g, '-$&')
    .toLowerCase();
