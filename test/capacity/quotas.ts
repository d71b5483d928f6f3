import { readSettings } from '../../infra/settings/settings.ts';
import { serviceSecretFreshFor } from '../../lib/secrets/service-secret.ts';
import { signingKeyFreshFor } from '../../lib/signing/key-set.ts';
import { freshForMilliseconds } from '../../lib/storage/cache.ts';
import { shards } from '../../lib/storage/table.ts';
import type { Cost, Place } from './measure.ts';
import { assumptions } from './prices.ts';
import type { MeasuredRequests } from './requests.ts';

/** Requests per second. */
export const rates = [100, 10_000, 100_000];

/** Seconds after which a warm function reads a secret again. */
const secretSeconds = { key: signingKeyFreshFor / 1000, others: serviceSecretFreshFor / 1000 };

/** The most events of one request to EventBridge. */
const entriesOfRequest = 10;

/** What may be the first limit. */
interface Quota {
  name: string;
  raisedBy: string;
  most: number;
  /** How much of it a rate of requests uses. */
  taken: (perSecond: number) => number;
}

/**
 * Defaults of AWS accounts in us-east-1, read on copies of AWS's pages: API Gateway, Lambda and
 * Secrets Manager in May 2025, the others in November 2026.
 * @see https://docs.aws.amazon.com/general/latest/gr/aws-service-information.html
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Limits.html
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html
 * @see https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html
 * @see https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/cloudfront-limits.html
 */
export function quotasFor(measured: MeasuredRequests): Quota[] {
  const { firstLogin, login, refresh, again, unread } = measured;
  const waiting = assumptions.milliseconds + assumptions.providerMilliseconds;
  const requests = (rate: number) => rate;
  return [
    {
      name: 'The throttle of the token route, requests a second: logins and refreshes',
      raisedBy: 'the setting `tokenRateLimit`',
      most: readSettings({}).tokenRateLimit,
      taken: requests,
    },
    quota('API Gateway, requests a second of the account', 10_000, requests),
    quota('CloudFront, requests a second of a distribution', 250_000, requests),
    quota(
      `Lambda, concurrent executions, ${assumptions.milliseconds} ms each, at most ten requests a second: logins (id token), refreshes`,
      1000,
      instances(assumptions.milliseconds),
    ),
    quota(
      `Lambda, concurrent executions, ${waiting} ms each: logins (provider called)`,
      1000,
      instances(waiting),
    ),
    quota(
      'Lambda, concurrent executions of the publishing function, up to ten for each partition of the table: logins',
      1000,
      (rate) =>
        10 * Math.ceil((rate * (login.cost.written.table?.units ?? 0)) / partitionWriteUnits),
    ),
    writes('logins', 'table', login.cost),
    writes('refreshes', 'table', refresh.cost),
    quota(
      'DynamoDB, read units a second of the table: refreshes',
      40_000,
      (rate) => rate * refresh.cost.readUnits,
    ),
    writes('first logins', 'by_list', firstLogin.cost),
    writes('repeated registrations', 'by_shard', again.cost),
    {
      name: 'DynamoDB, read units a second of one partition: one Login App, read by each instance every 30 seconds',
      raisedBy: 'nobody',
      most: 3000,
      taken: (rate) =>
        (instances(waiting)(rate) / (freshForMilliseconds / 1000)) * unread.cost.readUnits,
    },
    {
      name: 'Secrets Manager, reads a second: three at a cold start, each again after four or five minutes',
      raisedBy: 'nobody',
      most: 10_000,
      taken: (rate) => rate * assumptions.coldShare * 3 + secretReads(rate, waiting),
    },
    ...publishing('first logins', firstLogin.cost),
    ...publishing('later logins', login.cost),
    quota(
      'CloudWatch Logs, new log streams a second: one at a cold start',
      50,
      (rate) => rate * assumptions.coldShare,
    ),
    quota(
      `CloudWatch Logs, requests to write lines a second: ${assumptions.logRequestsPerSecond} of each instance, ${waiting} ms a login, and as many by the audit forwarder`,
      5000,
      (rate) => instances(waiting)(rate) * assumptions.logRequestsPerSecond * 2,
    ),
  ];
}

const quota = (name: string, most: number, taken: Quota['taken']): Quota => ({
  name,
  raisedBy: 'AWS, on request',
  most,
  taken,
});

/**
 * The instances that a rate of requests needs. One takes ten requests a second at most, however
 * short they are.
 * @see AWS Lambda developer guide, "Understanding Lambda function scaling": requests per second
 */
const instances = (milliseconds: number) => (rate: number) =>
  (rate * Math.max(milliseconds, 100)) / 1000;

/** The reads of secrets a second by warm instances: each reads three again after minutes. */
export const secretReads = (rate: number, milliseconds: number = assumptions.milliseconds) =>
  instances(milliseconds)(rate) * (1 / secretSeconds.key + 2 / secretSeconds.others);

/** The quota that the table and each of its indexes have for themselves. */
const writes = (requests: string, place: Place, { written }: Cost): Quota => {
  const units = written[place]?.units ?? 0;
  const where = place === 'table' ? 'the table' : `the index \`${place}\``;
  return quota(
    `DynamoDB, write units a second of ${where}: ${requests}`,
    40_000,
    (rate) => rate * units,
  );
};

const publishing = (requests: string, { events }: Cost): Quota[] => [
  quota(
    `EventBridge, requests a second to publish: ${requests}`,
    10_000,
    (rate) => (rate * events) / entriesOfRequest,
  ),
  quota(
    `EventBridge, invocations a second: one rule of yours for every event, ${requests}`,
    18_750,
    (rate) => rate * events,
  ),
];

/**
 * Write units that a partition gives in a second; nobody can raise them.
 * @see Amazon DynamoDB developer guide, "Best practices for designing and using partition keys
 *   effectively"
 */
const partitionWriteUnits = 1000;

/**
 * Lists the rates at which one partition, or the shards of one list, can take no more writes:
 * `units` are the write units that a request takes of one, `most` the requests a second.
 */
export function partitionEnds(measured: MeasuredRequests) {
  const end =
    (place: Place, partitions: number) =>
    (requests: string, { cost }: MeasuredRequests['login']) => {
      const units = cost.written[place]?.busiest;
      if (!units) throw new Error(`${requests} write nothing to ${place}.`);
      const most = Math.floor((partitions * partitionWriteUnits) / units);
      return { requests, place, partitions, units, most };
    };
  const people = end('by_list', shards.length);
  const devices = end('by_shard', shards.length);
  const one = end('table', 1);
  return [
    people('first logins of one Login App', measured.firstLogin),
    devices('first registrations of one Login App', measured.registration),
    devices('repeated registrations of one Login App', measured.again),
    devices('relations of one Login App', measured.relation),
    one('logins of one person', measured.login),
    one('refreshes of one person', measured.refresh),
    end('by_list', 1)('new access requests, all in one list', measured.accessRequest),
    one('comments on one access request', measured.comment),
    one('reviews of one access request', measured.review),
  ];
}
