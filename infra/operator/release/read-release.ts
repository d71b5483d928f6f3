import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import {
  CloudWatchClient,
  type MetricDataQuery,
  paginateGetMetricData,
} from '@aws-sdk/client-cloudwatch';
import {
  GetAliasCommand,
  LambdaClient,
  paginateListVersionsByFunction,
} from '@aws-sdk/client-lambda';
import { readStackAliases, type StackAlias } from '../../../lib/release/stack-aliases.ts';
import { forEachInBatches } from '../../../lib/storage/batches.ts';

/**
 * Many attempts of each call: those for all functions together can exceed Lambda's request limit.
 */
export const patiently = { maxAttempts: 8 };

/**
 * Reads from CloudFormation and Lambda what is live, since the functions may be broken.
 * @throws the error of the SDK
 */
export async function readRelease(StackName: string) {
  const cloudFormation = new CloudFormationClient(patiently);
  const lambda = new LambdaClient(patiently);
  const { Stacks: [stack] = [] } = await cloudFormation.send(
    new DescribeStacksCommand({ StackName }),
  );
  const functions: Served[] = [];
  await forEachInBatches(await readStackAliases(cloudFormation, StackName), async (alias) => {
    functions.push(await readServed(lambda, alias));
  });
  return {
    stack: StackName,
    /** `UPDATE_COMPLETE` */
    status: String(stack?.StackStatus),
    /** When its last deployment began. */
    begunAt: stack?.LastUpdatedTime ?? stack?.CreationTime ?? new Date(0),
    functions: functions.toSorted((one, other) => one.key.localeCompare(other.key)),
  };
}

export type Release = Awaited<ReturnType<typeof readRelease>>;

/** A deployed function that serves an endpoint. */
export type Served = Awaited<ReturnType<typeof readServed>>;

async function readServed(client: LambdaClient, alias: StackAlias) {
  const { key, functionName: name, name: Name, deployed, updatedAt } = alias;
  const { FunctionVersion, RoutingConfig, RevisionId } = await client.send(
    new GetAliasCommand({ FunctionName: name, Name }),
  );
  const pages = await Array.fromAsync(
    paginateListVersionsByFunction({ client }, { FunctionName: name }),
  );
  const versions = pages
    .flatMap(({ Versions = [] }) => Versions)
    .map(({ Version, LastModified = '', Environment }) => ({
      number: Number(Version),
      publishedAt: new Date(LastModified),
      tableName: Environment?.Variables?.TABLE_NAME,
    }));
  const live = versions.find(({ number }) => number === Number(FunctionVersion));
  if (!live) throw new Error(`${name} has no version ${FunctionVersion}, which is live.`);
  const [before] = versions
    .filter(({ number }) => number < live.number)
    .toSorted((one, other) => other.number - one.number);
  return {
    /** The name of its file in `functions/`. */
    key,
    name,
    live,
    /** The version before the live one, if there is one and it was retained. */
    before,
    /**
     * The version that CloudFormation deployed last. After `release back`, an earlier one is live.
     */
    deployed: versions.find(({ number }) => number === deployed) ?? live,
    deployedAt: updatedAt,
    /** Whether a canary gets a part of the requests. */
    isShifting: Object.keys(RoutingConfig?.AdditionalVersionWeights ?? {}).length > 0,
    revisionId: RevisionId,
  };
}

/** How long before now requests and errors are counted. */
const minutes = 15;

/** Lists the live versions with their requests and errors of the last 15 minutes. */
export async function showRelease({ stack, status, begunAt, functions }: Release) {
  const queries = functions.flatMap((served, place) => queriesOf(stack, served, place));
  const client = new CloudWatchClient(patiently);
  const now = Date.now();
  const period = { StartTime: new Date(now - minutes * 60_000), EndTime: new Date(now) };
  const asked = paginateGetMetricData({ client }, { MetricDataQueries: queries, ...period });
  const found = (await Array.fromAsync(asked)).flatMap(
    ({ MetricDataResults = [] }) => MetricDataResults,
  );
  const sumOf = (id: string): number =>
    found
      .flatMap(({ Id, Values = [] }) => (Id === id ? Values : []))
      .reduce((sum, value) => sum + value, 0);
  return {
    stack,
    status,
    last_deployment_from: begunAt.toISOString(),
    functions: functions.map(({ key, live, deployed, deployedAt, isShifting, before }, place) => ({
      function: key,
      version: live.number,
      // AWS doesn't tell when an alias was moved by hand.
      live_from: live === deployed ? deployedAt?.toISOString() : undefined,
      deployed_version: deployed.number,
      version_before: before?.number,
      canary: isShifting,
      [`requests_${minutes}_min`]: sumOf(`requests${place}`),
      [`errors_${minutes}_min`]: sumOf(`responses${place}`) + sumOf(`crashes${place}`),
    })),
  };
}

/** Requests, responses with a 5xx, and invocations that ended without a response. */
function queriesOf(stack: string, { name, live }: Served, place: number): MetricDataQuery[] {
  const query = (
    id: string,
    Namespace: string,
    MetricName: string,
    dimensions: object,
  ): MetricDataQuery => {
    const Dimensions = Object.entries(dimensions).map(([Name, Value]) => ({
      Name,
      Value: String(Value),
    }));
    const Metric = { Namespace, MetricName, Dimensions };
    return { Id: `${id}${place}`, MetricStat: { Metric, Period: 60, Stat: 'Sum' } };
  };
  const ofAlias = { FunctionName: name, Resource: `${name}:live` };
  return [
    query('requests', 'AWS/Lambda', 'Invocations', ofAlias),
    query('crashes', 'AWS/Lambda', 'Errors', ofAlias),
    query('responses', stack, 'ServerErrors', { function: name, version: live.number }),
  ];
}
