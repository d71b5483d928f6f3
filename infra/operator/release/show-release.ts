import { CloudWatchClient, type MetricDataQuery, paginateGetMetricData } from '@aws-sdk/client-cloudwatch';
import { patiently, type Release, type Served } from './read-release.ts';

/** The part of the time before now in which requests and errors are counted. */
const minutes = 15;

/** Lists the live versions, since when they are live, and their requests and errors of the last 15 minutes. */
export async function showRelease(release: Release) {
  const { stack, status, begunAt, functions } = release;
  const sums = await sumsOf(functions.flatMap((served, place) => queriesOf(stack, served, place)));
  const sumOf = (id: string): number => sums.get(id) ?? 0;
  return {
    stack,
    status,
    last_deployment_from: begunAt.toISOString(),
    functions: functions.map(({ key, live, deployed, deployedAt, isShifting, before }, place) => ({
      function: key,
      version: live.number,
      // Nobody tells when an alias was moved by hand.
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
  const query = (id: string, Namespace: string, MetricName: string, dimensions: object): MetricDataQuery => {
    const Dimensions = Object.entries(dimensions).map(([Name, Value]) => ({ Name, Value: String(Value) }));
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

/** The sum of each query over the last minutes, by its id. */
async function sumsOf(MetricDataQueries: MetricDataQuery[]): Promise<Map<string, number>> {
  const client = new CloudWatchClient(patiently);
  const sums = new Map<string, number>();
  const now = Date.now();
  const period = { StartTime: new Date(now - minutes * 60_000), EndTime: new Date(now) };
  try {
    for await (const page of paginateGetMetricData({ client }, { MetricDataQueries, ...period })) {
      for (const { Id = '', Values = [] } of page.MetricDataResults ?? [])
        sums.set(Id, (sums.get(Id) ?? 0) + Values.reduce((sum, value) => sum + value, 0));
    }
    return sums;
  } finally {
    client.destroy();
  }
}
