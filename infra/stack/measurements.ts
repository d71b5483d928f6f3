import { Duration } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { LogReason } from '../../lib/errors/reasons.ts';
import type { metrics } from '../../lib/log/metrics.ts';
import { table } from '../../lib/storage/table.ts';
import { rate, sum } from './metric-math.ts';

/** The names of the metrics that the functions write. */
type OwnMetric = (typeof metrics)[keyof typeof metrics]['name'];

type ObservedTable = Pick<ITable, 'tableName' | 'metric'>;

/** The metrics of the access log's 5xx and 429, by route. */
export const routeServerErrors = 'RouteServerErrors';
export const routeThrottles = 'RouteThrottles';

/** Metrics that alarms and dashboard show, per minute unless said otherwise. */
export class Measurements {
  readonly #namespace: string;
  readonly #api: HttpApi;
  readonly #table: ObservedTable;

  constructor(namespace: string, api: HttpApi, table: ObservedTable) {
    this.#namespace = namespace;
    this.#api = api;
    this.#table = table;
  }

  requests = (): Metric => this.#ofApi('Count', Stats.SUM);
  clientErrors = (): Metric => this.#ofApi('4xx', Stats.SUM);
  serverErrors = (): Metric => this.#ofApi('5xx', Stats.SUM);
  latency = (statistic: string): Metric => this.#ofApi('Latency', statistic);

  /** The share of requests that end in 5xx. */
  serverErrorRate = (fewest: number): IMetric =>
    rate({ part: this.serverErrors(), whole: this.requests(), fewest, label: '5xx, per cent' });

  /** The latency of the slow requests; 0 while there are fewer than twenty in a minute, of which one can be a cold start. */
  usualLatency = (statistic: string): IMetric =>
    new MathExpression({
      expression: 'IF(requests >= 20, latency, 0)',
      usingMetrics: { requests: this.requests(), latency: this.latency(statistic) },
      label: 'Latency, ms',
      period: Duration.minutes(1),
    });

  /** Throttles of all functions of the account in this region: they share one limit, and one function can use it up for all. */
  functionThrottles = (): Metric => ofFunctions('Throttles');

  /** The share of all those invocations that were throttled. */
  functionThrottleRate = (fewest: number): IMetric =>
    rate({
      part: this.functionThrottles(),
      whole: ofFunctions('Invocations'),
      fewest,
      label: 'Throttled invocations, per cent',
    });

  /**
   * The share of the requests to one route that ended in 5xx, in 15 minutes. The access log counts the errors; a request
   * that has reached no function is no invocation.
   */
  serverErrorRateOf = (routeKey: string, lambda: IFunction, fewest: number): IMetric =>
    this.#rateOfRoute(routeServerErrors, routeKey, lambda, {
      fewest,
      label: '5xx, per cent',
      period: Duration.minutes(15),
    });

  /** The share of the requests to one route that got a 429, in 5 minutes; 0 while fewer than twenty did. */
  throttleRateOf = (routeKey: string, lambda: IFunction): IMetric =>
    this.#rateOfRoute(routeThrottles, routeKey, lambda, {
      fewest: 20,
      label: '429, per cent',
      period: Duration.minutes(5),
    });

  /**
   * Throttled requests of the table and of its global indexes, which are throttled by themselves. Each is missing while nothing is throttled.
   * @see Amazon DynamoDB developer guide, "DynamoDB Metrics and dimensions": GlobalSecondaryIndexName
   */
  tableThrottles = (): IMetric =>
    sum(
      'Table throttles',
      Object.fromEntries(
        [undefined, ...Object.keys(table.globalIndexes)].flatMap((index) => {
          const suffix = index === undefined ? '' : `_${index}`;
          return [
            [`reads${suffix}`, this.#ofTable('ReadThrottleEvents', index)],
            [`writes${suffix}`, this.#ofTable('WriteThrottleEvents', index)],
          ];
        }),
      ),
    );

  /** The share of the table's requests that were throttled, about: a request consumes one unit or a few. */
  tableThrottleRate = (fewest: number): IMetric => {
    const [consumedReads, consumedWrites] = this.#consumed();
    return rate({
      part: this.tableThrottles(),
      whole: sum('Units', { consumedReads, consumedWrites }),
      fewest,
      label: 'Table throttles, per cent',
    });
  };

  consumed = (): Metric[] => this.#consumed();

  /** The share of the calls of providers that failed. */
  providerFailureRate = (fewest: number): IMetric =>
    rate({
      part: this.total('ProviderFailures'),
      whole: this.total('ProviderLatency', Stats.SAMPLE_COUNT),
      fewest,
      label: 'Provider failures, per cent',
    });

  /** Errors of the given functions, summed. */
  errorsOf = (lambdas: IFunction[]): IMetric =>
    sum(
      'Errors',
      Object.fromEntries(lambdas.map((lambda, place) => [`errors${place}`, errorsOfOne(lambda)])),
    );

  /** Attempts to forward audit lines that failed, and deliveries that wait in the queue. */
  auditFailures = (forwarder: IFunction, undelivered: IQueue): IMetric =>
    sum('Audit failures', {
      failed: errorsOfOne(forwarder),
      waiting: undelivered.metricApproximateNumberOfMessagesVisible({
        statistic: Stats.MAXIMUM,
        period: Duration.minutes(1),
      }),
    });

  /** A metric of the service's own, over all values of its fields. */
  total = (metricName: OwnMetric, statistic: string = Stats.SUM): Metric =>
    new Metric({ namespace: this.#namespace, metricName, statistic, period: Duration.minutes(1) });

  /** The share of refreshes whose refresh token had been used once before; a few have lost their response, at any time. */
  repeatedRefreshRate = (): IMetric =>
    rate({
      part: this.total('RefreshTokensRepeated'),
      whole: this.#refreshes(),
      fewest: 20,
      label: 'Repeated refresh tokens, per cent',
    });

  /** The number of outdated refresh tokens, in per cent of the refreshes. */
  reusedRefreshRate = (fewest: number): IMetric =>
    rate({
      part: this.total('RefreshTokensReused'),
      whole: this.#refreshes(),
      fewest,
      label: 'Reused refresh tokens, per cent',
    });

  /** The share of requests with a wrong secret of a client, an account or a Login App Token; 0 for fewer than a hundred a minute. */
  wrongSecretRate = (): IMetric =>
    rate({
      part: sum('Wrong secrets', {
        tokens: this.#because('TokensRefused', 'secret_wrong'),
        others: this.#because('RequestsRefused', 'secret_wrong'),
      }),
      whole: this.requests(),
      fewest: 100,
      label: 'Wrong secrets, per cent',
    });

  /** Events that were rejected because their access request is full. */
  fullAccessRequests = (): IMetric => this.#because('RequestsRefused', 'access_request_full');

  /** A metric from the log with a line for each value of a field. */
  by = (metricName: OwnMetric, field: string, statistic: string = Stats.SUM): IMetric =>
    new MathExpression({
      expression: `SEARCH('{"${this.#namespace}","${field}"} MetricName="${metricName}"', '${statistic}', 60)`,
      usingMetrics: {},
      label: '',
      period: Duration.minutes(1),
    });

  #because(metricName: OwnMetric, reason: LogReason): Metric {
    return this.total(metricName).with({ dimensionsMap: { reason } });
  }

  #refreshes(): Metric {
    return this.total('TokensIssued').with({ dimensionsMap: { grant_type: 'refresh_token' } });
  }

  #rateOfRoute(
    metricName: string,
    route: string,
    lambda: IFunction,
    { period, ...shown }: { fewest: number; label: string; period: Duration },
  ): IMetric {
    const dimensionsMap = { route };
    const statistic = Stats.SUM;
    return rate({
      // Without such requests there is no metric, which costs nothing.
      part: new Metric({ namespace: this.#namespace, metricName, dimensionsMap, statistic, period }),
      whole: lambda.metricInvocations({ statistic, period }),
      period,
      ...shown,
    });
  }

  #consumed(): [Metric, Metric] {
    return [this.#ofTable('ConsumedReadCapacityUnits'), this.#ofTable('ConsumedWriteCapacityUnits')];
  }

  #ofApi(metricName: string, statistic: string): Metric {
    return new Metric({
      namespace: 'AWS/ApiGateway',
      metricName,
      dimensionsMap: { ApiId: this.#api.apiId },
      statistic,
      period: Duration.minutes(1),
    });
  }

  #ofTable(metricName: string, GlobalSecondaryIndexName?: string): Metric {
    const { tableName: TableName } = this.#table;
    const dimensionsMap = { TableName, ...(GlobalSecondaryIndexName && { GlobalSecondaryIndexName }) };
    return this.#table.metric(metricName, {
      dimensionsMap,
      statistic: Stats.SUM,
      period: Duration.minutes(1),
    });
  }
}

/** A metric of all functions of the account in this region. */
const ofFunctions = (metricName: string): Metric =>
  new Metric({ namespace: 'AWS/Lambda', metricName, statistic: Stats.SUM, period: Duration.minutes(1) });

const errorsOfOne = (lambda: IFunction): Metric =>
  lambda.metricErrors({ statistic: Stats.SUM, period: Duration.minutes(1) });
