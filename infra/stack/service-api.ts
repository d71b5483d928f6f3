import { CfnOutput, Stack } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import * as apigateway from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { FilterPattern, type LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import * as v from 'valibot';
import { partsOf } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import type { RouteMetric } from './measurements.ts';
import { acknowledge } from './rights.ts';
import { namedLogGroup } from './service-data.ts';
import { type EndpointFunction, resourceOf } from './service-function.ts';

/** A line of the access log, without the query, headers and body. */
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

/** Endpoints with a throttle of their own, and its name in the settings. */
export const throttles = new Map<
  string,
  'token' | 'nonce' | 'identity' | 'notification' | 'document'
>([
  ['issue-token', 'token'],
  ['issue-nonce', 'nonce'],
  ['link-identity', 'identity'],
  ['unlink-identity', 'identity'],
  ['receive-notification', 'notification'],
  ['describe-api', 'document'],
]);

/**
 * The HTTP API: the address at which clients reach it, its access log, and the throttle of each
 * route.
 */
export class ServiceApi extends Construct {
  readonly url: string;
  readonly api: apigateway.HttpApi;
  readonly #settings: Settings;
  readonly #stage: apigateway.HttpStage;
  readonly #routeSettings: Record<string, object> = {};

  /**
   * @param key the deployment's own, for the access log
   * @param given an existing domain
   */
  constructor(
    scope: Construct,
    id: string,
    settings: Settings,
    key?: IKey,
    given?: apigateway.IDomainName,
  ) {
    super(scope, id);
    this.#settings = settings;
    const { domainName = given?.name, certificateArn } = settings;
    this.api = new apigateway.HttpApi(this, 'Http', {
      apiName: settings.stack,
      createDefaultStage: false,
      // It would be a way past a firewall in front of your own domain.
      disableExecuteApiEndpoint: domainName !== undefined,
    });
    acknowledge(
      this.api,
      'APIG4',
      'No authorizer knows OAuth clients, accounts and sessions: functions do',
    );
    this.url = domainName ? `https://${domainName}` : this.api.apiEndpoint;
    const domain =
      given ??
      (domainName && certificateArn ? this.#ownDomain(domainName, certificateArn) : undefined);
    if (domain) {
      // The DNS record of the domain points to it, or CloudFront in front of the API.
      const target = new CfnOutput(this, 'DomainTarget', { value: domain.regionalDomainName });
      target.overrideLogicalId(target.node.id);
    }
    this.#stage = new apigateway.HttpStage(this, 'Stage', {
      httpApi: this.api,
      autoDeploy: true,
      // For each route separately.
      throttle: { rateLimit: settings.rateLimit, burstLimit: settings.burstLimit },
      accessLogSettings: {
        destination: new apigateway.LogGroupLogDestination(this.#accessLogGroup(key)),
        format: AccessLogFormat.custom(accessLog),
      },
    });
    if (domain) {
      // CloudFormation can't make another mapping before it deletes this one, so it keeps the id
      // that it got from the CDK.
      const id = `${Stack.of(this).stackName}--Api--Domainundefined`;
      new apigateway.ApiMapping(this.#stage, id, {
        api: this.api,
        domainName: domain,
        stage: this.#stage,
      });
      this.#stage.node.addDependency(domain);
    }
  }

  /** Routes an endpoint to its function, with its throttle. */
  addRoute({ key, access: endpoint }: EndpointFunction, target: IFunction): void {
    const { method, path } = partsOf(endpoint);
    const routes = this.api.addRoutes({
      path,
      methods: [v.parse(v.enum(apigateway.HttpMethod), method)],
      integration: new HttpLambdaIntegration(key, target),
    });
    const throttle = throttles.get(key);
    if (!throttle) return;
    this.#routeSettings[endpoint.route] = {
      ThrottlingRateLimit: this.#settings[`${throttle}RateLimit`],
      ThrottlingBurstLimit: this.#settings[`${throttle}BurstLimit`],
    };
    const stage = resourceOf(this.#stage, apigateway.CfnStage);
    stage.routeSettings = this.#routeSettings;
    // A route must exist before it can be throttled.
    stage.node.addDependency(...routes);
  }

  #accessLogGroup(key: IKey | undefined): LogGroup {
    // API Gateway names every other group one by one in a policy of the account that takes 5,120
    // characters. @see AWS Step Functions developer guide, "Avoiding Amazon CloudWatch Logs
    // resource policy size restrictions"
    const name = `/aws/vendedlogs/${Stack.of(this).stackName}/access`;
    const logGroup = namedLogGroup(this, 'AccessLog', name, this.#settings, key);
    // API Gateway's own metrics by route would be billed for every route, all the time.
    const countByRoute = (id: string, status: string, metricName: RouteMetric) =>
      logGroup.addMetricFilter(id, {
        filterPattern: FilterPattern.stringValue('$.status', '=', status),
        metricNamespace: this.#settings.stack,
        metricName,
        dimensions: { route: '$.route' },
      });
    countByRoute('ServerErrors', '5*', 'RouteServerErrors');
    countByRoute('Throttles', '429', 'RouteThrottles');
    return logGroup;
  }

  #ownDomain(domainName: string, certificateArn: string): apigateway.DomainName {
    const certificate = Certificate.fromCertificateArn(this, 'Certificate', certificateArn);
    return new apigateway.DomainName(this, 'Domain', { domainName, certificate });
  }
}
