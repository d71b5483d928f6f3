import { Duration } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { LogReason } from '../../lib/foundation/reasons.ts';
import type { metrics } from '../../lib/log/metrics.ts';
import { table } from '../../lib/storage/table.ts';
import { minute, most, rate, sum } from './metric-math.ts';

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
    rate('5xx', { part: this.serverErrors(), whole: this.requests() }, fewest);

  /** The latency of the slow requests; 0 while there are fewer than twenty in a minute, of which one can be a cold start. */
  usualLatency = (statistic: string): IMetric =>
    new MathExpression({
      expression: 'IF(requests >= 20, latency, 0)',
      usingMetrics: { requests: this.requests(), latency: this.latency(statistic) },
      label: 'Latency, ms',
      period: minute,
    });

  /** Throttles of all functions of the account in this region: they share one limit, and one function can use it up for all. */
  functionThrottles = (): Metric => ofFunctions('Throttles');

  /** The share of all those invocations that were throttled. */
  functionThrottleRate = (fewest: number): IMetric =>
    rate(
      'Throttled invocations',
      { part: this.functionThrottles(), whole: ofFunctions('Invocations') },
      fewest,
    );

  /**
   * The share of the requests to one route that ended in 5xx, in 15 minutes. The access log counts the errors; a request
   * that has reached no function is no invocation.
   */
  serverErrorRateOf = (routeKey: string, lambda: IFunction, fewest: number): IMetric =>
    this.#rateOfRoute('5xx', routeServerErrors, { routeKey, lambda }, fewest, Duration.minutes(15));

  /** The share of the requests to one route that got a 429, in 5 minutes; 0 while fewer than twenty did. */
  throttleRateOf = (routeKey: string, lambda: IFunction): IMetric =>
    this.#rateOfRoute('429', routeThrottles, { routeKey, lambda }, 20, Duration.minutes(5));

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
    const [consumedReads, consumedWrites] = this.consumed();
    const whole = sum('Units', { consumedReads, consumedWrites });
    return rate('Table throttles', { part: this.tableThrottles(), whole }, fewest);
  };

  consumed = (): [Metric, Metric] => [
    this.#ofTable('ConsumedReadCapacityUnits'),
    this.#ofTable('ConsumedWriteCapacityUnits'),
  ];

  /** The share of the calls of providers that failed. */
  providerFailureRate = (fewest: number): IMetric => {
    const whole = this.total('ProviderLatency', Stats.SAMPLE_COUNT);
    return rate('Provider failures', { part: this.total('ProviderFailures'), whole }, fewest);
  };

  /** Units that were written to the table in 15 minutes in which the publisher was not invoked, else 0. */
  unpublishedWrites = (publisher: IFunction): IMetric => {
    const period = Duration.minutes(15);
    const [, written] = this.consumed();
    return new MathExpression({
      expression: 'IF(FILL(invocations, 0) < 1, FILL(written, 0), 0)',
      usingMetrics: { invocations: invocationsOf(publisher, period), written: written.with({ period }) },
      label: 'Unpublished write units',
      period,
    });
  };

  /** 1 while a function that is invoked every ten minutes was not, else 0. */
  missedInvocation = (lambda: IFunction): IMetric => {
    const period = Duration.minutes(10);
    return new MathExpression({
      expression: 'IF(FILL(invocations, 0) < 1, 1, 0)',
      usingMetrics: { invocations: invocationsOf(lambda, period) },
      label: 'Missed invocation',
      period,
    });
  };

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
      waiting: undelivered.metricApproximateNumberOfMessagesVisible(most),
    });

  /** A metric of the service's own, over all values of its fields. */
  total = (metricName: OwnMetric, statistic: string = Stats.SUM): Metric =>
    new Metric({ namespace: this.#namespace, metricName, statistic, period: minute });

  /** The share of refreshes whose refresh token had been used once before; a few have lost their response, at any time. */
  repeatedRefreshRate = (): IMetric => this.#rateOfRefreshes('Repeated', 20);

  /** The number of outdated refresh tokens, in per cent of the refreshes. */
  reusedRefreshRate = (fewest: number): IMetric => this.#rateOfRefreshes('Reused', fewest);

  /** The share of requests with a wrong secret of a client, an account or a Login App Token; 0 for fewer than a hundred a minute. */
  wrongSecretRate = (): IMetric => {
    const part = sum('Wrong secrets', {
      tokens: this.#because('TokensRefused', 'secret_wrong'),
      others: this.#because('RequestsRefused', 'secret_wrong'),
    });
    return rate('Wrong secrets', { part, whole: this.requests() }, 100);
  };

  /** Events that were rejected because their access request is full. */
  fullAccessRequests = (): IMetric => this.#because('RequestsRefused', 'access_request_full');

  /** A metric from the log with a line for each value of a field. */
  by = (metricName: OwnMetric, field: string, statistic: string = Stats.SUM): IMetric =>
    new MathExpression({
      expression: `SEARCH('{"${this.#namespace}","${field}"} MetricName="${metricName}"', '${statistic}', 60)`,
      usingMetrics: {},
      label: '',
      period: minute,
    });

  #because(metricName: OwnMetric, reason: LogReason): Metric {
    return this.total(metricName).with({ dimensionsMap: { reason } });
  }

  #rateOfRefreshes(which: 'Repeated' | 'Reused', fewest: number): IMetric {
    const whole = this.total('TokensIssued').with({ dimensionsMap: { grant_type: 'refresh_token' } });
    return rate(`${which} refresh tokens`, { part: this.total(`RefreshTokens${which}`), whole }, fewest);
  }

  #rateOfRoute(
    label: string,
    metricName: string,
    { routeKey, lambda }: { routeKey: string; lambda: IFunction },
    fewest: number,
    period: Duration,
  ): IMetric {
    const summed = { statistic: Stats.SUM, period };
    const dimensionsMap = { route: routeKey };
    // Without such requests there is no metric, which costs nothing.
    const part = new Metric({ namespace: this.#namespace, metricName, dimensionsMap, ...summed });
    return rate(label, { part, whole: lambda.metricInvocations(summed) }, fewest, period);
  }

  #ofApi(metricName: string, statistic: string): Metric {
    return new Metric({
      namespace: 'AWS/ApiGateway',
      metricName,
      dimensionsMap: { ApiId: this.#api.apiId },
      statistic,
      period: minute,
    });
  }

  #ofTable(metricName: string, GlobalSecondaryIndexName?: string): Metric {
    const { tableName: TableName } = this.#table;
    const dimensionsMap = { TableName, ...(GlobalSecondaryIndexName && { GlobalSecondaryIndexName }) };
    return this.#table.metric(metricName, { dimensionsMap, statistic: Stats.SUM, period: minute });
  }
}

/** A metric of all functions of the account in this region. */
const ofFunctions = (metricName: string): Metric =>
  new Metric({ namespace: 'AWS/Lambda', metricName, statistic: Stats.SUM, period: minute });

const invocationsOf = (lambda: IFunction, period: Duration): Metric =>
  lambda.metricInvocations({ statistic: Stats.SUM, period });

const errorsOfOne = (lambda: IFunction): Metric =>
  lambda.metricErrors({ statistic: Stats.SUM, period: minute });
