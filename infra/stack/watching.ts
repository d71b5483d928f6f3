import { NestedStack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { makeAlarms, type Watched } from './alarms.ts';
import { deploymentGroups } from './live-versions.ts';
import type { Measurements } from './measurements.ts';
import type { InlineRole } from './rights.ts';

/** A stack within the service's, since one can have 500 resources: for parts that hold no data and that no request needs. */
export class Watching extends NestedStack {
  /** @param role with which CodeDeploy moves aliases. Without a canary there is none. */
  constructor(scope: Construct, id: string, role: InlineRole | undefined, watched: Watched) {
    super(scope, id, { description: 'Alarms, dashboard and deployment groups' });
    const { settings, measurements } = watched;
    const { all, rollingBack } = makeAlarms(this, watched);
    addDashboard(this, measurements, all);
    if (role) deploymentGroups(this, settings, role, rollingBack);
  }
}

const graph = (title: string, ...left: cloudwatch.IMetric[]) =>
  new cloudwatch.GraphWidget({ title, left, width: 8 });

function addDashboard(scope: Construct, of: Measurements, alarms: cloudwatch.Alarm[]): void {
  const dashboard = new cloudwatch.Dashboard(scope, 'Dashboard');
  dashboard.addWidgets(new cloudwatch.AlarmStatusWidget({ title: 'Alarms', alarms, width: 24 }));
  dashboard.addWidgets(
    graph('Requests', of.requests, of.clientErrors, of.serverErrors),
    graph('Latency, ms', of.latency(cloudwatch.Stats.p(50)), of.latency(cloudwatch.Stats.p(99))),
    graph('Throttles', of.ofFunctions('Throttles'), of.tableThrottles),
  );
  dashboard.addWidgets(
    graph('Tokens issued, by grant', of.by('TokensIssued', 'grant_type')),
    graph('Tokens issued, by provider', of.by('TokensIssued', 'provider')),
    graph(
      'Refresh tokens repeated, replayed and reused',
      of.total('RefreshTokensRepeated'),
      of.total('RefreshTokensReplayed'),
      of.total('RefreshTokensReused'),
    ),
  );
  dashboard.addWidgets(
    graph('Rejected token requests, by error', of.by('TokensRefused', 'error')),
    graph('Rejected token requests, by reason', of.by('TokensRefused', 'reason')),
    graph('Rejected token requests, by provider', of.by('TokensRefused', 'provider')),
  );
  dashboard.addWidgets(
    graph('Latency of providers, p99, ms', of.by('ProviderLatency', 'provider', cloudwatch.Stats.p(99))),
    graph('Provider failures', of.by('ProviderFailures', 'provider')),
    graph('Table, units consumed', of.consumedReads, of.consumedWrites),
  );
  dashboard.addWidgets(
    graph('Devices registered', of.by('DevicesRegistered', 'outcome')),
    graph('Searches', of.total('Searches')),
    graph('Other requests refused, by reason', of.by('RequestsRefused', 'reason')),
  );
  dashboard.addWidgets(
    graph('5xx, by function and version', of.by('ServerErrors', ['function', 'version'])),
    graph('Secrets that could not be read', of.total('StaleSecrets')),
    graph(
      'Login hook failures; changes of streams of events',
      of.total('LoginHookFailures'),
      of.total('ProviderStreamsUpdated'),
    ),
  );
}
