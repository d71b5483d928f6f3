import { CfnOutput, Fn, SecretValue, Stack, Token } from 'aws-cdk-lib';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import * as cloudfront from 'aws-cdk-lib/aws-cloudfront';
import { HttpOrigin } from 'aws-cdk-lib/aws-cloudfront-origins';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import { CfnDelivery, CfnDeliveryDestination, CfnDeliverySource } from 'aws-cdk-lib/aws-logs';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { CfnLoggingConfiguration, type CfnWebACL } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import { originSecretHeader, viewerAddressHeader } from '../../lib/http/origin-secret.ts';
import type { Settings } from '../settings/settings.ts';
import { version, versionTag } from '../version.ts';
import { allowLogs } from './key-policy.ts';
import type { LoginService } from './login-service.ts';
import { PropError } from './prop-error.ts';
import { acknowledge } from './rights.ts';
import { namedLogGroup } from './service-data.ts';
import { arnOf } from './service-function.ts';
import { makeWebAcl } from './web-acl.ts';

/**
 * CloudFront and AWS WAF in front of a deployment, in us-east-1, where AWS WAF takes rules for
 * CloudFront.
 */
export class Edge extends Stack {
  readonly distribution: cloudfront.Distribution;
  readonly webAcl: CfnWebACL;

  /** @throws PropError for a service without `edge`, or a domain whose name is not known */
  constructor(scope: Construct, service: LoginService) {
    const { settings, domainName, edgeEncryptionKey } = service;
    const { stack, edgeCertificateArn, edgeKmsKeyArn } = settings;
    if (!settings.edge || !domainName || !edgeCertificateArn)
      throw new PropError(service, 'edge', 'must be true for an Edge');
    if (Token.isUnresolved(domainName))
      throw new PropError(service, 'domain', 'must have a name that is known before deployment');
    const { account, region, terminationProtection = false } = Stack.of(service);
    super(scope, `${stack}-edge`, {
      stackName: `${stack}-edge`,
      description: 'CloudFront and AWS WAF in front of a login and access-request service',
      tags: { ...Stack.of(service).tags.tagValues(), [versionTag]: version },
      env: { account, region: 'us-east-1' },
      terminationProtection,
    });
    this.node.addDependency(Stack.of(service));
    const namedKey = edgeKmsKeyArn ? Key.fromKeyArn(this, 'Key', edgeKmsKeyArn) : undefined;
    const key = edgeEncryptionKey ?? namedKey;
    if (key) allowLogs(this, key);
    const webAcl = makeWebAcl(this, settings);
    this.webAcl = webAcl;
    const secret = new Secret(this, 'OriginSecret', {
      description: 'What CloudFront proves with that a request came through it',
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
      ...definedOnly({ encryptionKey: key }),
    });
    acknowledge(secret, 'SMG4', 'Its rotation takes two deployments: see docs/settings.md');
    // CloudFormation reads the secret when the reference to it changes, so a rotation names a
    // version.
    const ofSecret = definedOnly({ versionId: settings.originSecretVersion });
    const originSecret = SecretValue.secretsManager(secret.secretArn, ofSecret).unsafeUnwrap();
    const distribution = new cloudfront.Distribution(this, 'Distribution', {
      domainNames: [domainName],
      certificate: Certificate.fromCertificateArn(this, 'Certificate', edgeCertificateArn),
      minimumProtocolVersion: cloudfront.SecurityPolicyProtocol.TLS_V1_2_2021,
      httpVersion: cloudfront.HttpVersion.HTTP2_AND_3,
      webAclId: webAcl.attrArn,
      defaultBehavior: {
        origin: new HttpOrigin(Fn.getStackOutput(stack, 'DomainTarget', region), {
          customHeaders: { [originSecretHeader]: originSecret },
        }),
        allowedMethods: cloudfront.AllowedMethods.ALLOW_ALL,
        cachePolicy: cloudfront.CachePolicy.CACHING_DISABLED,
        // With the Host header, by which API Gateway knows the API, and the client's address.
        originRequestPolicy: new cloudfront.OriginRequestPolicy(this, 'OriginRequests', {
          headerBehavior: cloudfront.OriginRequestHeaderBehavior.all(viewerAddressHeader),
          queryStringBehavior: cloudfront.OriginRequestQueryStringBehavior.all(),
          cookieBehavior: cloudfront.OriginRequestCookieBehavior.all(),
        }),
        // For answers of API Gateway and AWS WAF themselves.
        responseHeadersPolicy: cloudfront.ResponseHeadersPolicy.SECURITY_HEADERS,
        // Not redirected: a client that sends credentials without TLS has to notice.
        viewerProtocolPolicy: cloudfront.ViewerProtocolPolicy.HTTPS_ONLY,
      },
    });
    this.distribution = distribution;
    acknowledge(distribution, 'CFR1', 'People log in from any country');
    acknowledge(
      distribution,
      'CFR3',
      'The setting edgeLogs logs in a way that this rule does not look for',
    );
    if (settings.edgeLogs) this.#addLogs(settings, distribution.distributionArn, webAcl, key);
    new CfnOutput(this, 'EdgeTarget', { value: distribution.distributionDomainName });
    new CfnOutput(this, 'OriginSecretArn', { value: secret.secretArn });
  }

  /** Logs each request with its caller's address, and those that AWS WAF has blocked. */
  #addLogs(
    settings: Settings,
    distributionArn: string,
    webAcl: CfnWebACL,
    key: IKey | undefined,
  ): void {
    const scope = new Construct(this, 'Logs');
    const { stack: deployment } = settings;
    // Without the wildcard that the attribute for the ARN ends in.
    const logGroup = (id: string, name: string): string =>
      arnOf(this, 'logs', 'log-group', namedLogGroup(scope, id, name, settings, key).logGroupName);
    // @see Amazon CloudFront developer guide, "Configure standard logging (v2)"
    const name = `${deployment}-requests`;
    const source = new CfnDeliverySource(scope, 'Source', {
      name,
      logType: 'ACCESS_LOGS',
      resourceArn: distributionArn,
    });
    const destination = new CfnDeliveryDestination(scope, 'Destination', {
      name,
      outputFormat: 'json',
      destinationResourceArn: logGroup('Requests', `/aws/vendedlogs/${deployment}/edge`),
    });
    const delivery = new CfnDelivery(scope, 'Delivery', {
      deliverySourceName: name,
      deliveryDestinationArn: destination.attrArn,
      recordFields,
    });
    delivery.node.addDependency(source);
    // The CDK passes the filter as it is: CloudFormation has no schema of it.
    // @see AWS WAF developer guide, "Sending web ACL traffic logs to an Amazon CloudWatch Logs log
    // group"
    const block = { ActionCondition: { Action: 'BLOCK' } };
    new CfnLoggingConfiguration(scope, 'Blocked', {
      resourceArn: webAcl.attrArn,
      logDestinationConfigs: [logGroup('BlockedLog', `aws-waf-logs-${deployment}`)],
      loggingFilter: {
        DefaultBehavior: 'DROP',
        Filters: [{ Behavior: 'KEEP', Requirement: 'MEETS_ANY', Conditions: [block] }],
      },
      redactedFields: [
        { uriPath: {} },
        { queryString: {} },
        { singleHeader: { Name: 'authorization' } },
        { singleHeader: { Name: 'authentication' } },
        { singleHeader: { Name: 'cookie' } },
      ],
    });
  }
}

/**
 * Fields of CloudFront's access log: neither paths, which hold ids of devices, nor queries, which
 * may hold anything.
 */
const recordFields = [
  'date',
  'time',
  'x-edge-location',
  'x-edge-request-id',
  'c-ip',
  'cs-method',
  'sc-status',
  'sc-bytes',
  'cs-bytes',
  'time-taken',
  'x-edge-detailed-result-type',
  'cs-protocol-version',
  'ssl-protocol',
];
