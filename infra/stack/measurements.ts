import { Duration } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { LogReason } from '../../lib/errors/reasons.ts';
import type { metrics } from '../../lib/log/metrics.ts';
import { table } from '../../lib/storage/table.ts';

/** The names of the metrics that the functions write. */
type OwnMetric = (typeof metrics)[keyof typeof metrics]['name'];

type ObservedTable = Pick<ITable, 'tableName' | 'metric'>;

/** The metric of the access log's 5xx, by route. */
export const routeServerErrors = 'RouteServerErrors';

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

  /** The share of requests that end in 5xx, in per cent; 0 while fewer than five do, since a share of so few says nothing. */
  serverErrorRate = (): IMetric =>
    new MathExpression({
      expression: 'IF(failed >= 5, 100 * failed / all, 0)',
      usingMetrics: { failed: this.serverErrors(), all: this.requests() },
      label: '5xx, per cent',
      period: Duration.minutes(1),
    });

  /** Concurrent executions of all functions of the account in this region: they share one limit, and one function can use it up for all. */
  functionThrottles = (): Metric =>
    new Metric({
      namespace: 'AWS/Lambda',
      metricName: 'Throttles',
      statistic: Stats.SUM,
      period: Duration.minutes(1),
    });

  /** The requests to one route that ended in 5xx, by the access log. Without any, there is no metric, which costs nothing. */
  serverErrorsOf = (routeKey: string, period: Duration): Metric =>
    new Metric({
      namespace: this.#namespace,
      metricName: routeServerErrors,
      dimensionsMap: { route: routeKey },
      statistic: Stats.SUM,
      period,
    });

  /**
   * Throttled requests of the table and of its global indexes, which are throttled by themselves. Each is missing while nothing is throttled.
   * @see Amazon DynamoDB developer guide, "DynamoDB Metrics and dimensions": GlobalSecondaryIndexName
   */
  tableThrottles = (): IMetric => {
    const usingMetrics = Object.fromEntries(
      [undefined, ...Object.keys(table.globalIndexes)].flatMap((index) => {
        const suffix = index === undefined ? '' : `_${index}`;
        return [
          [`reads${suffix}`, this.#ofTable('ReadThrottleEvents', index)],
          [`writes${suffix}`, this.#ofTable('WriteThrottleEvents', index)],
        ];
      }),
    );
    return new MathExpression({
      expression: Object.keys(usingMetrics)
        .map((name) => `FILL(${name}, 0)`)
        .join(' + '),
      usingMetrics,
      label: 'Table throttles',
      period: Duration.minutes(1),
    });
  };

  consumed = (): Metric[] => [
    this.#ofTable('ConsumedReadCapacityUnits'),
    this.#ofTable('ConsumedWriteCapacityUnits'),
  ];

  /** Errors of the given functions, summed. */
  errorsOf = (lambdas: IFunction[]): IMetric => {
    const errors = lambdas.map((lambda, place) => [`errors${place}`, errorsOfOne(lambda)]);
    return new MathExpression({
      expression: errors.map(([name]) => `FILL(${name}, 0)`).join(' + '),
      usingMetrics: Object.fromEntries(errors),
      label: 'Errors',
      period: Duration.minutes(1),
    });
  };

  /** Attempts to forward audit lines that failed, and deliveries that wait in the queue. */
  auditFailures = (forwarder: IFunction, undelivered: IQueue): IMetric =>
    new MathExpression({
      expression: 'FILL(failed, 0) + FILL(waiting, 0)',
      usingMetrics: {
        failed: errorsOfOne(forwarder),
        waiting: undelivered.metricApproximateNumberOfMessagesVisible({
          statistic: Stats.MAXIMUM,
          period: Duration.minutes(1),
        }),
      },
      label: 'Audit failures',
      period: Duration.minutes(1),
    });

  /** A metric of the service's own, over all values of its fields. */
  total = (metricName: OwnMetric, statistic: string = Stats.SUM): Metric =>
    new Metric({ namespace: this.#namespace, metricName, statistic, period: Duration.minutes(1) });

  /**
   * The share of refreshes whose refresh token had been used once before, in per cent; 0 while fewer than twenty are. Lost
   * responses cause a few of them at any time.
   */
  repeatedRefreshRate = (): IMetric =>
    new MathExpression({
      expression: 'IF(repeated >= 20, 100 * repeated / refreshed, 0)',
      usingMetrics: {
        repeated: this.total('RefreshTokensRepeated'),
        refreshed: this.total('TokensIssued').with({ dimensionsMap: { grant_type: 'refresh_token' } }),
      },
      label: 'Repeated refresh tokens, per cent',
      period: Duration.minutes(1),
    });

  /** Wrong secrets of clients, accounts and Login App Tokens, at all endpoints. */
  wrongSecrets = (): IMetric =>
    new MathExpression({
      expression: 'FILL(tokens, 0) + FILL(others, 0)',
      usingMetrics: {
        tokens: this.#because('TokensRefused', 'secret_wrong'),
        others: this.#because('RequestsRefused', 'secret_wrong'),
      },
      label: 'Wrong secrets',
      period: Duration.minutes(1),
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

const errorsOfOne = (lambda: IFunction): Metric =>
  lambda.metricErrors({ statistic: Stats.SUM, period: Duration.minutes(1) });
