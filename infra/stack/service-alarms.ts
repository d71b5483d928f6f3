import { Alarm, ComparisonOperator, type IMetric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';
import { routeKeyOf } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import type { EventPublishing } from './event-publishing.ts';
import type { Measurements } from './measurements.ts';
import { most } from './metric-math.ts';
import { logicalIdOf, type ServiceFunction } from './service-function.ts';

/** The rule by which an alarm goes off: in `periods` of the last `of` periods of the metric, it was at least `from`. */
interface Limit {
  from: number;
  periods: number;
  of: number;
}

/** An endpoint, the function that serves it, and whether its route has a throttle of its own. */
interface WatchedEndpoint {
  endpoint: AnyEndpoint;
  served: ServiceFunction;
  isThrottled: boolean;
}

export interface ServiceAlarmsProps {
  topic: ITopic;
  settings: Settings;
  measurements: Measurements;
  rotations: IFunction[];
  finishing: IFunction;
  endpoints: readonly WatchedEndpoint[];
  forwarder: IFunction;
  /** The queue of audit lines that were not forwarded. */
  undeliveredAudit: IQueue;
  /** Absent when nothing is published. */
  publishing: Pick<EventPublishing, 'publisher' | 'deadLetters'> | undefined;
}

/** The rule of what must never happen. */
const once = { from: 1, periods: 1, of: 1 };

/**
 * The rule of what must never happen, for a sum of metrics that may be missing. The latest minute of such a sum is 0 until its metrics arrive, so an
 * alarm that looks at one minute might never go off.
 * @see Amazon CloudWatch user guide, "Using math expressions with CloudWatch metrics": FILL
 */
const onceOfSum = { from: 1, periods: 1, of: 5 };

/** The alarms. `docs/watching.md` says what to do about each. */
export class ServiceAlarms extends Construct {
  readonly all: Alarm[];
  /** The alarm about the whole API, which rolls any new version back. */
  readonly serverErrors: Alarm;
  readonly #topic: ITopic;
  readonly #serverErrorsOf = new Map<string, Alarm>();

  constructor(scope: Construct, id: string, props: ServiceAlarmsProps) {
    super(scope, id);
    const { settings, measurements, rotations, finishing, endpoints, publishing } = props;
    this.#topic = props.topic;
    const fewest = settings.alarmFewest;
    this.serverErrors = this.#alarm('ServerErrors', measurements.serverErrorRate(fewest), {
      from: settings.alarmErrorPercent,
      periods: 2,
      of: 3,
    });
    // The share of all requests hides a route that few use. Such a route may get less than one request a minute, so its
    // errors are added up over a longer time: a few in a row are enough, even minutes apart.
    for (const { endpoint, served } of endpoints) {
      const alarm = this.#alarm(
        `ServerErrorsOf${logicalIdOf(served.key)}`,
        measurements.serverErrorRateOf(routeKeyOf(endpoint), served.lambda, fewest),
        { from: settings.alarmErrorPercent, periods: 1, of: 1 },
      );
      this.#serverErrorsOf.set(served.key, alarm);
    }
    const throttled = { from: settings.alarmThrottledPercent, periods: 2, of: 5 };
    this.all = [
      this.serverErrors,
      this.#alarm('Latency', measurements.usualLatency(Stats.p(99)), {
        from: settings.alarmLatencyMilliseconds,
        periods: 5,
        of: 5,
      }),
      this.#alarm('FunctionThrottles', measurements.functionThrottleRate(fewest), throttled),
      this.#alarm('TableThrottles', measurements.tableThrottleRate(fewest), throttled),
      this.#alarm('ProviderFailures', measurements.providerFailureRate(fewest), {
        from: settings.alarmProviderFailurePercent,
        periods: 3,
        of: 5,
      }),
      this.#alarm('StaleSecrets', measurements.total('StaleSecrets'), { from: 1, periods: 2, of: 5 }),
      this.#alarm('RefreshTokensReused', measurements.reusedRefreshRate(fewest), {
        from: settings.alarmReusedPercent,
        periods: 1,
        of: 1,
      }),
      this.#alarm('RefreshTokensRepeated', measurements.repeatedRefreshRate(), {
        from: settings.alarmRepeatedPercent,
        periods: 3,
        of: 5,
      }),
      this.#alarm('WrongSecrets', measurements.wrongSecretRate(), {
        from: settings.alarmWrongSecretPercent,
        periods: 3,
        of: 5,
      }),
      this.#alarm('AccessRequestFull', measurements.fullAccessRequests(), once),
      this.#alarm('RotationFailure', measurements.errorsOf(rotations), onceOfSum),
      this.#alarm('DeletionsUnfinished', measurements.errorsOf([finishing]), onceOfSum),
      this.#alarm('FinishDeletionsStopped', measurements.missedInvocation(finishing), {
        from: 1,
        periods: 3,
        of: 3,
      }),
      ...this.#serverErrorsOf.values(),
      ...endpoints
        .filter(({ isThrottled }) => isThrottled)
        .map(({ endpoint, served: { key, lambda } }) =>
          this.#alarm(
            `ThrottledAt${logicalIdOf(key)}`,
            measurements.throttleRateOf(routeKeyOf(endpoint), lambda),
            { from: settings.alarmThrottledPercent, periods: 1, of: 1 },
          ),
        ),
      this.#alarm(
        'AuditFailure',
        measurements.auditFailures(props.forwarder, props.undeliveredAudit),
        onceOfSum,
      ),
      ...(publishing ? this.#publishingAlarms(publishing, props) : []),
    ];
  }

  /** Alarms that a new version of a function rolls back on: about the whole API, and about its own route. */
  about(key: string): Alarm[] {
    const own = this.#serverErrorsOf.get(key);
    return own ? [this.serverErrors, own] : [this.serverErrors];
  }

  #publishingAlarms(
    { publisher, deadLetters }: Pick<EventPublishing, 'publisher' | 'deadLetters'>,
    { measurements, settings }: Pick<ServiceAlarmsProps, 'measurements' | 'settings'>,
  ): Alarm[] {
    const age = publisher.metric('IteratorAge', most);
    const letters = deadLetters.metricApproximateNumberOfMessagesVisible(most);
    return [
      this.#alarm('EventsDelayed', age, { from: 15 * 60_000, periods: 3, of: 5 }),
      this.#alarm('EventsStopped', measurements.unpublishedWrites(publisher), {
        from: settings.alarmFewest,
        periods: 2,
        of: 4,
      }),
      this.#alarm('EventsUndeliverable', letters, once),
    ];
  }

  #alarm(name: string, metric: IMetric, { from, periods, of }: Limit): Alarm {
    const alarm = new Alarm(this, name, {
      alarmDescription: `${name}: see docs/watching.md`,
      metric,
      threshold: from,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      datapointsToAlarm: periods,
      evaluationPeriods: of,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    const tell = new SnsAction(this.#topic);
    alarm.addAlarmAction(tell);
    alarm.addOkAction(tell);
    return alarm;
  }
}
