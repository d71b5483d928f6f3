import { readSettings } from '../../infra/settings/settings.ts';
import { serviceSecretFreshFor } from '../../lib/secrets/service-secret.ts';
import { signingKeyFreshFor } from '../../lib/signing-keys/key-set.ts';
import { freshForMilliseconds } from '../../lib/storage/recently-read.ts';
import type { Cost } from './measure.ts';
import { assumptions } from './prices.ts';

/** Logins per second. */
export const rates = [100, 10_000, 100_000];

/** Seconds after which a warm function reads a secret again. */
const secretSeconds = { key: signingKeyFreshFor / 1000, others: serviceSecretFreshFor / 1000 };

/** What may be the first limit. */
interface Quota {
  name: string;
  /** Who can raise it, and the source of the figure. */
  raisedBy: string;
  most: number;
  /** How much of it a rate of logins uses. */
  taken: (loginsPerSecond: number) => number;
}

/**
 * Defaults of AWS accounts in large regions, as published in May 2025.
 * @see https://docs.aws.amazon.com/general/latest/gr/aws-service-information.html
 */
export function quotasFor({ login, unread }: { login: Cost; unread: Cost }): Quota[] {
  const instances = (milliseconds: number) => (rate: number) => (rate * milliseconds) / 1000;
  const waiting = assumptions.milliseconds + assumptions.providerMilliseconds;
  const settings = readSettings({});
  return [
    {
      name: 'The throttle of the token route, requests a second',
      raisedBy: 'the setting `tokenRateLimit`',
      most: settings.tokenRateLimit,
      taken: (rate) => rate,
    },
    {
      name: 'API Gateway, requests a second of the account',
      raisedBy: 'AWS, on request',
      most: 10_000,
      taken: (rate) => rate,
    },
    {
      name: `Lambda, concurrent executions, ${assumptions.milliseconds} ms a login (id token)`,
      raisedBy: 'AWS, on request',
      most: 1000,
      taken: instances(assumptions.milliseconds),
    },
    {
      name: `Lambda, concurrent executions, ${waiting} ms a login (provider called)`,
      raisedBy: 'AWS, on request',
      most: 1000,
      taken: instances(waiting),
    },
    {
      name: 'DynamoDB, write units a second of the table',
      raisedBy: 'AWS, on request',
      most: 40_000,
      taken: (rate) => rate * login.writeUnits,
    },
    {
      name: 'DynamoDB, write units a second of one partition: one person who logs in once a second',
      raisedBy: 'nobody',
      most: 1000,
      taken: () => login.writeUnits,
    },
    {
      name: 'DynamoDB, read units a second of one partition: one Login App, read by each instance every 30 seconds',
      raisedBy: 'nobody',
      most: 3000,
      taken: (rate) => (instances(waiting)(rate) / (freshForMilliseconds / 1000)) * unread.readUnits,
    },
    {
      name: 'Secrets Manager, reads a second: three at a cold start, each again after four or five minutes',
      raisedBy: 'nobody',
      most: 10_000,
      taken: (rate) =>
        rate * assumptions.coldShare * 3 +
        instances(waiting)(rate) * (1 / secretSeconds.key + 2 / secretSeconds.others),
    },
  ];
}
