import { CfnOutput, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  CfnStage,
  DomainName,
  HttpApi,
  HttpMethod,
  type HttpRoute,
  HttpStage,
  LogGroupLogDestination,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';
import { routeKeyOf } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import { logRetention } from './log-retention.ts';
import { routeServerErrors } from './measurements.ts';
import { resourceOf } from './resource-of.ts';

/** The access log: a line per request, about load and failures. Nothing of the query, the headers or the body. */
const accessLog = JSON.stringify({
  time: '$context.requestTime',
  request_id: '$context.requestId',
  route: '$context.routeKey',
  status: '$context.status',
  milliseconds: '$context.responseLatency',
  function_milliseconds: '$context.integrationLatency',
  bytes: '$context.responseLength',
  source_ip: '$context.identity.sourceIp',
  protocol: '$context.protocol',
  gateway_error: '$context.error.responseType',
});

/** The HTTP API: its address, its access log, and the throttle of each route. */
export class ServiceApi extends Construct {
  /** The address at which clients reach the API. */
  readonly url: string;
  readonly api: HttpApi;
  readonly #settings: Settings;
  readonly #stage: HttpStage;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    this.#settings = settings;
    const { domainName, certificateArn } = settings;
    this.api = new HttpApi(this, 'Http', {
      apiName: settings.stack,
      createDefaultStage: false,
      // With your own domain, this address would be one more way past a firewall.
      disableExecuteApiEndpoint: domainName !== undefined,
    });
    Validations.of(this.api).acknowledge({
      id: 'AwsSolutions-APIG4',
      reason:
        'Callers are authenticated by the functions: no authorizer knows OAuth clients, accounts and sessions',
    });
    this.url = domainName ? `https://${domainName}` : this.api.apiEndpoint;
    const domain = domainName && certificateArn ? this.#ownDomain(domainName, certificateArn) : undefined;
    this.#stage = new HttpStage(this, 'Stage', {
      httpApi: this.api,
      autoDeploy: true,
      // For each route separately.
      throttle: { rateLimit: settings.rateLimit, burstLimit: settings.burstLimit },
      accessLogSettings: {
        destination: new LogGroupLogDestination(this.#accessLogGroup()),
        format: AccessLogFormat.custom(accessLog),
      },
      ...(domain && { domainMapping: { domainName: domain } }),
    });
  }

  /** Routes an endpoint to its function. */
  addRoute(key: string, { method, path }: AnyEndpoint, target: IFunction): HttpRoute[] {
    return this.api.addRoutes({
      path,
      methods: [HttpMethod[method]],
      integration: new HttpLambdaIntegration(key, target),
    });
  }

  /** The token route calls providers and signs, so its throttle is lower than that of the others. */
  throttleTokens(endpoint: AnyEndpoint, route: HttpRoute[]): void {
    const stage = resourceOf(this.#stage, CfnStage);
    stage.routeSettings = {
      [routeKeyOf(endpoint)]: {
        ThrottlingRateLimit: this.#settings.tokenRateLimit,
        ThrottlingBurstLimit: this.#settings.tokenBurstLimit,
      },
    };
    // A route must exist before it can be throttled.
    stage.node.addDependency(...route);
  }

  #accessLogGroup(): LogGroup {
    const logGroup = new LogGroup(this, 'AccessLog', {
      // API Gateway names every other group one by one in a policy of the account that takes 5,120 characters.
      // @see AWS Step Functions developer guide, "Avoiding Amazon CloudWatch Logs resource policy size restrictions"
      logGroupName: `/aws/vendedlogs/${Stack.of(this).stackName}/access`,
      retention: logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    // API Gateway's own metrics by route would be billed for every route, all the time.
    logGroup.addMetricFilter('ServerErrors', {
      filterPattern: FilterPattern.stringValue('$.status', '=', '5*'),
      metricNamespace: this.#settings.stack,
      metricName: routeServerErrors,
      dimensions: { route: '$.route' },
    });
    return logGroup;
  }

  /** The owner of the domain creates its DNS record, which points to the output `DomainTarget`. */
  #ownDomain(domainName: string, certificateArn: string): DomainName {
    const certificate = Certificate.fromCertificateArn(this, 'Certificate', certificateArn);
    const domain = new DomainName(this, 'Domain', { domainName, certificate });
    new CfnOutput(Stack.of(this), 'DomainTarget', { value: domain.regionalDomainName });
    return domain;
  }
}
