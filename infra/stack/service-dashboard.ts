import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  Stats,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import type { Measurements } from './measurements.ts';

const graph = (title: string, ...left: IMetric[]): GraphWidget =>
  new GraphWidget({ title, left, width: 8, height: 6 });

/** A page that shows whether the service is healthy, and if not, where to look. */
export class ServiceDashboard extends Dashboard {
  constructor(scope: Construct, id: string, of: Measurements, alarms: Alarm[]) {
    super(scope, id);
    this.addWidgets(new AlarmStatusWidget({ title: 'Alarms', alarms, width: 24 }));
    this.addWidgets(
      graph('Requests', of.requests(), of.clientErrors(), of.serverErrors()),
      graph('Latency, ms', of.latency(Stats.p(50)), of.latency(Stats.p(99))),
      graph('Throttles', of.functionThrottles(), of.tableThrottles()),
    );
    this.addWidgets(
      graph('Tokens issued, by grant', of.by('TokensIssued', 'grant_type')),
      graph('Tokens issued, by provider', of.by('TokensIssued', 'provider')),
      graph(
        'Refresh tokens repeated, replayed and reused',
        of.total('RefreshTokensRepeated'),
        of.total('RefreshTokensReplayed'),
        of.total('RefreshTokensReused'),
      ),
    );
    this.addWidgets(
      graph('Rejected token requests, by error', of.by('TokensRefused', 'error')),
      graph('Rejected token requests, by reason', of.by('TokensRefused', 'reason')),
      graph('Rejected token requests, by provider', of.by('TokensRefused', 'provider')),
    );
    this.addWidgets(
      graph('Latency of providers, p99, ms', of.by('ProviderLatency', 'provider', Stats.p(99))),
      graph('Provider failures', of.by('ProviderFailures', 'provider')),
      graph('Table, units consumed', ...of.consumed()),
    );
    this.addWidgets(
      graph('Devices registered', of.by('DevicesRegistered', 'outcome')),
      graph('Searches', of.total('Searches')),
      graph('Other requests refused, by reason', of.by('RequestsRefused', 'reason')),
    );
    this.addWidgets(graph('Secrets that could not be read', of.total('StaleSecrets')));
  }
}
