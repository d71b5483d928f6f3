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
    const { measurements: of } = watched;
    // Widgets that don't fit in a row of 24 columns begin another.
    new cloudwatch.Dashboard(this, 'Dashboard').addWidgets(
      new cloudwatch.AlarmStatusWidget({ title: 'Alarms', alarms, width: 24 }),
      graph('Requests', of.requests, of.clientErrors, of.serverErrors),
      graph('Latency, ms', of.latency(cloudwatch.Stats.p(50)), of.latency(cloudwatch.Stats.p(99))),
      graph('Throttles', of.ofFunctions('Throttles'), of.tableThrottles),
      graph('Tokens issued, by grant', of.by('TokensIssued', 'grant_type')),
      graph('Tokens issued, by provider', of.by('TokensIssued', 'provider')),
      graph(
        'Refresh tokens repeated, replayed and reused',
        of.total('RefreshTokensRepeated'),
        of.total('RefreshTokensReplayed'),
        of.total('RefreshTokensReused'),
      ),
      graph('Rejected token requests, by error', of.by('TokensRefused', 'error')),
      graph('Rejected token requests, by reason', of.by('TokensRefused', 'reason')),
      graph('Rejected token requests, by provider', of.by('TokensRefused', 'provider')),
      graph(
        'Latency of providers, p99, ms',
        of.by('ProviderLatency', 'provider', cloudwatch.Stats.p(99)),
      ),
      graph('Provider failures', of.by('ProviderFailures', 'provider')),
      graph('Table, units consumed', of.consumedReads, of.consumedWrites),
      graph('Devices registered', of.by('DevicesRegistered', 'outcome')),
      graph('Searches', of.total('Searches')),
      graph('Other requests refused, by reason', of.by('RequestsRefused', 'reason')),
      graph('5xx, by function and version', of.by('ServerErrors', ['function', 'version'])),
      graph('Secrets that could not be read', of.total('StaleSecrets')),
      graph(
        'Login hook failures; changes of streams of events',
        of.total('LoginHookFailures'),
        of.total('ProviderStreamsUpdated'),
      ),
    );
  }
}
