import { type App, CfnOutput, Fn, SecretValue, Stack, Validations } from 'aws-cdk-lib';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import {
  AllowedMethods,
  CachePolicy,
  Distribution,
  HttpVersion,
  OriginProtocolPolicy,
  OriginRequestCookieBehavior,
  OriginRequestHeaderBehavior,
  OriginRequestPolicy,
  OriginRequestQueryStringBehavior,
  ResponseHeadersPolicy,
  SecurityPolicyProtocol,
  ViewerProtocolPolicy,
} from 'aws-cdk-lib/aws-cloudfront';
import { HttpOrigin } from 'aws-cdk-lib/aws-cloudfront-origins';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { CfnIPSet, CfnWebACL } from 'aws-cdk-lib/aws-wafv2';
import { originSecretHeader, viewerAddressHeader } from '../../lib/http/origin-secret.ts';
import { tokenPath } from '../../lib/tokens/issuer.ts';
import type { Settings } from '../settings/settings.ts';
import { version } from '../version.ts';
import { versionTag } from './description.ts';
import { EdgeLogs } from './edge-logs.ts';
import type { LoginService } from './login-service.ts';

/** The settings of an edge, all of which `edge: true` demands. */
type EdgeSettings = Pick<
  Settings,
  | 'originSecretVersion'
  | 'edgeRateLimit'
  | 'edgeTokenRateLimit'
  | 'edgeAllowedAddresses'
  | 'edgeLogs'
  | 'edgeKmsKeyArn'
  | 'logRetentionDays'
  | 'tags'
  | 'stack'
> &
  Record<'account' | 'region' | 'domainName' | 'edgeCertificateArn', string>;

export function edgeSettings(settings: Settings): EdgeSettings | undefined {
  const { account, region, domainName, edgeCertificateArn } = settings;
  if (!settings.edge || !account || !region || !domainName || !edgeCertificateArn) return undefined;
  return { ...settings, account, region, domainName, edgeCertificateArn };
}

/**
 * CloudFront and AWS WAF in front of a deployment, in a stack of their own: AWS WAF takes rules for CloudFront in
 * us-east-1 only. CloudFront adds the origin secret, which only Secrets Manager and CloudFront hold.
 * @see AWS CloudFormation template reference, "AWS::WAFv2::WebACL", `Scope`
 */
export class Edge extends Stack {
  constructor(app: App, service: LoginService, settings: EdgeSettings) {
    const { account, stack, domainName, tags, edgeKmsKeyArn } = settings;
    super(app, `${stack}-edge`, {
      description: 'CloudFront and AWS WAF in front of a login and access-request service',
      tags: { ...tags, [versionTag]: version },
      env: { account, region: 'us-east-1' },
      terminationProtection: service.terminationProtection,
    });
    this.addStackDependency(service);
    const key = edgeKmsKeyArn ? Key.fromKeyArn(this, 'Key', edgeKmsKeyArn) : undefined;
    const webAcl = this.#webAcl(settings);
    const secret = new Secret(this, 'OriginSecret', {
      description: 'What CloudFront proves with that a request came through it',
      generateSecretString: { passwordLength: 64, excludePunctuation: true },
      ...(key && { encryptionKey: key }),
    });
    Validations.of(secret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason:
        'A rotation takes two deployments, since the functions know the hash; the page on settings tells how',
    });
    const distribution = new Distribution(this, 'Distribution', {
      domainNames: [domainName],
      certificate: Certificate.fromCertificateArn(this, 'Certificate', settings.edgeCertificateArn),
      minimumProtocolVersion: SecurityPolicyProtocol.TLS_V1_2_2021,
      httpVersion: HttpVersion.HTTP2_AND_3,
      webAclId: webAcl.attrArn,
      defaultBehavior: {
        origin: this.#origin(settings, secret),
        allowedMethods: AllowedMethods.ALLOW_ALL,
        cachePolicy: CachePolicy.CACHING_DISABLED,
        originRequestPolicy: this.#originRequests(),
        // For what API Gateway and AWS WAF answer themselves.
        responseHeadersPolicy: ResponseHeadersPolicy.SECURITY_HEADERS,
        // Not redirected: a client that sends credentials without TLS has to notice.
        viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
      },
    });
    Validations.of(distribution).acknowledge({
      id: 'AwsSolutions-CFR1',
      reason: 'People log in from any country',
    });
    Validations.of(distribution).acknowledge({
      id: 'AwsSolutions-CFR3',
      reason:
        'The setting edgeLogs has CloudFront log each request, in a way that this rule does not look for',
    });
    if (settings.edgeLogs) {
      const retentionDays = settings.logRetentionDays;
      new EdgeLogs(this, 'Logs', { distribution, webAcl, name: stack, retentionDays, key });
    }
    new CfnOutput(this, 'EdgeTarget', { value: distribution.distributionDomainName });
    new CfnOutput(this, 'OriginSecretArn', { value: secret.secretArn });
  }

  /**
   * The API, by the output of its stack. The value of the secret is read when the reference changes, not when the secret
   * does, so a rotation names a version.
   * @see AWS CloudFormation template reference, "Fn::GetStackOutput"
   * @see AWS CloudFormation user guide, "Get a secret or secret value from Secrets Manager"
   */
  #origin({ stack, region, originSecretVersion }: EdgeSettings, { secretArn }: Secret): HttpOrigin {
    const target = Fn.getStackOutput(stack, 'DomainTarget', region);
    const version = originSecretVersion ? { versionId: originSecretVersion } : {};
    return new HttpOrigin(target, {
      protocolPolicy: OriginProtocolPolicy.HTTPS_ONLY,
      // CloudFormation resolves it; the template has the reference only.
      customHeaders: { [originSecretHeader]: SecretValue.secretsManager(secretArn, version).unsafeUnwrap() },
    });
  }

  /** All that a client sends, with the Host header, by which API Gateway knows the API; and the address that it sends from. */
  #originRequests(): OriginRequestPolicy {
    return new OriginRequestPolicy(this, 'OriginRequests', {
      headerBehavior: OriginRequestHeaderBehavior.all(viewerAddressHeader),
      queryStringBehavior: OriginRequestQueryStringBehavior.all(),
      cookieBehavior: OriginRequestCookieBehavior.all(),
    });
  }

  /** Stops an address that sends too much, unless it is allowed. Samples of requests are off: they would show credentials. */
  #webAcl({ stack, edgeRateLimit, edgeTokenRateLimit, edgeAllowedAddresses }: EdgeSettings): CfnWebACL {
    const visible = (metricName: string) => ({
      cloudWatchMetricsEnabled: true,
      sampledRequestsEnabled: false,
      metricName,
    });
    const counted = edgeAllowedAddresses ? this.#outside(edgeAllowedAddresses) : [];
    return new CfnWebACL(this, 'WebAcl', {
      scope: 'CLOUDFRONT',
      defaultAction: { allow: {} },
      visibilityConfig: visible(stack),
      rules: [
        {
          name: 'RatePerAddress',
          priority: 0,
          statement: atMost(edgeRateLimit, counted),
          action: { block: {} },
          visibilityConfig: visible(`${stack}-rate-per-address`),
        },
        ...(edgeTokenRateLimit === undefined
          ? []
          : [
              {
                name: 'TokenRatePerAddress',
                priority: 1,
                statement: atMost(edgeTokenRateLimit, [...tokenRequests, ...counted]),
                action: { block: {} },
                visibilityConfig: visible(`${stack}-token-rate-per-address`),
              },
            ]),
      ],
    });
  }

  /** Conditions that a request from none of these addresses meets. A set has addresses of one version of IP. */
  #outside(addresses: string[]): CfnWebACL.StatementProperty[] {
    return ['IPV4', 'IPV6'].map((ipAddressVersion) => {
      const set = new CfnIPSet(this, `Allowed${ipAddressVersion}`, {
        scope: 'CLOUDFRONT',
        ipAddressVersion,
        addresses: addresses.filter((one) => one.includes(':') === (ipAddressVersion === 'IPV6')),
      });
      return { notStatement: { statement: { ipSetReferenceStatement: { arn: set.attrArn } } } };
    });
  }
}

/** Blocks an address that sends more requests in five minutes that meet all conditions. */
const atMost = (limit: number, conditions: CfnWebACL.StatementProperty[]): CfnWebACL.StatementProperty => ({
  rateBasedStatement: {
    limit,
    aggregateKeyType: 'IP',
    evaluationWindowSec: 300,
    ...(conditions.length > 0 && { scopeDownStatement: { andStatement: { statements: conditions } } }),
  },
});

/** The conditions of a request to the token route, however its path is encoded. */
const tokenRequests: CfnWebACL.StatementProperty[] = [
  {
    byteMatchStatement: {
      fieldToMatch: { method: {} },
      positionalConstraint: 'EXACTLY',
      searchString: 'POST',
      textTransformations: [{ priority: 0, type: 'NONE' }],
    },
  },
  {
    byteMatchStatement: {
      fieldToMatch: { uriPath: {} },
      positionalConstraint: 'STARTS_WITH',
      searchString: tokenPath,
      textTransformations: [
        { priority: 0, type: 'URL_DECODE' },
        { priority: 1, type: 'NORMALIZE_PATH' },
      ],
    },
  },
];
