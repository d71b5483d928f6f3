import { NestedStack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { makeAlarms, type Watched } from './alarms.ts';
import type { EndpointFunction } from './service-function.ts';

const graph = (title: string, ...left: cloudwatch.IMetric[]) =>
  new cloudwatch.GraphWidget({ title, left, width: 8 });

/**
 * A stack within the service's, since one can have 500 resources: for parts that hold no data and
 * that no request needs.
 */
export class Watching extends NestedStack {
  /** Makes the alarms that a new version of a function is rolled back on. */
  readonly alarmsOfNewVersion: (served: EndpointFunction) => cloudwatch.Alarm[];

  constructor(scope: Construct, id: string, watched: Watched) {
    super(scope, id, { description: 'Alarms, dashboard and deployment groups' });
    const { all: alarms, rollingBack } = makeAlarms(this, watched);
    this.alarmsOfNewVersion = rollingBack;
    const { measurements } = watched;
    const { total, by } = measurements;
    // Widgets that don't fit in a row of 24 columns begin another.
    new cloudwatch.Dashboard(this, 'Dashboard').addWidgets(
      new cloudwatch.AlarmStatusWidget({ title: 'Alarms', alarms, width: 24 }),
      graph(
        'Requests',
        measurements.requests,
        measurements.clientErrors,
        measurements.serverErrors,
      ),
      graph(
        'Latency, ms',
        measurements.latency(cloudwatch.Stats.p(50)),
        measurements.latency(cloudwatch.Stats.p(99)),
      ),
      graph('Throttles', measurements.ofFunctions('Throttles'), measurements.tableThrottles),
      graph('Tokens issued, by grant', by('TokensIssued', 'grant_type')),
      graph('Tokens issued, by provider', by('TokensIssued', 'provider')),
      graph("Providers' tokens issued, by provider", by('ProviderTokensIssued', 'provider')),
      graph(
        'Refresh tokens repeated, replayed and reused',
        total('RefreshTokensRepeated'),
        total('RefreshTokensReplayed'),
        total('RefreshTokensReused'),
      ),
      graph('Rejected token requests, by error', by('TokensRefused', 'error')),
      graph('Rejected token requests, by reason', by('TokensRefused', 'reason')),
      graph('Rejected token requests, by provider', by('TokensRefused', 'provider')),
      graph(
        'Latency of providers, p99, ms',
        by('ProviderLatency', 'provider', cloudwatch.Stats.p(99)),
      ),
      graph(
        'Provider failures, and credentials without a verdict',
        by('ProviderFailures', 'provider'),
        by('ProvidersWithoutVerdict', 'provider'),
      ),
      graph('Table, units consumed', measurements.consumedReads, measurements.consumedWrites),
      graph('Devices registered', by('DevicesRegistered', 'outcome')),
      graph('Searches', total('Searches')),
      graph('Other requests refused, by reason', by('RequestsRefused', 'reason')),
      graph('5xx, by function and version', by('ServerErrors', ['function', 'version'])),
      graph('Secrets that could not be read', total('StaleSecrets')),
      graph(
        'Latency of the login hook, p99, ms',
        total('LoginHookLatency', cloudwatch.Stats.p(99)),
      ),
      graph(
        'Login hook failures; changes of streams of events',
        total('LoginHookFailures'),
        total('ProviderStreamsUpdated'),
      ),
    );
  }
}
