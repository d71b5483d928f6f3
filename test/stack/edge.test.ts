import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import type { CfnWebACL } from 'aws-cdk-lib/aws-wafv2';
import { version } from '../../infra/version.ts';
import { edgeParts } from '../capacity/prices.ts';
import { withEdge, withEdgeLogs, withKey } from '../support/deployments.ts';
import { edgeWith, stacksWith, templateWith } from '../support/template.ts';

const { service } = await stacksWith(withEdge);
const edge = await edgeWith();
const { template } = edge;
const originSecretVersion = createHash('md5').update('next').digest('hex');
const { template: changed } = await edgeWith({ originSecretVersion, edgeRateLimit: 300 });
const { template: logging } = await edgeWith(withEdgeLogs);

test('the edge is a stack of its own in us-east-1, after that of the service', async () => {
  expect(edge.environment).toBe('aws://123456789012/us-east-1');
  expect([edge.name, edge.after]).toEqual(['a-stack-edge', [service.name]]);
  expect(edge.terminationProtection).toBe(true);
  expect((await stacksWith()).edge).toBeUndefined();
});

test('both stacks, and so all their resources, have a tag with the version', () => {
  for (const one of [service, edge]) expect(one.tags).toEqual({ 'login-service:version': version });
});

test('CloudFront leads to the API by its own address, forwards the host, and caches nothing', () => {
  template.hasResourceProperties('AWS::CloudFront::Distribution', {
    DistributionConfig: {
      Aliases: ['login.example.com'],
      ViewerCertificate: {
        AcmCertificateArn: withEdge.edgeCertificateArn,
        MinimumProtocolVersion: 'TLSv1.2_2021',
      },
      WebACLId: Match.anyValue(),
      DefaultCacheBehavior: {
        AllowedMethods: Match.arrayWith(['POST', 'DELETE']),
        // AWS's CachingDisabled and SecurityHeadersPolicy.
        CachePolicyId: '4135ea2d-6df8-44a3-9df3-4b5a84be39ad',
        OriginRequestPolicyId: { Ref: Match.anyValue() },
        ResponseHeadersPolicyId: '67f7725c-6f97-4210-82d7-5512b31e9d03',
        ViewerProtocolPolicy: 'https-only',
      },
      Origins: [
        Match.objectLike({
          DomainName: {
            'Fn::GetStackOutput': {
              StackName: 'a-stack',
              OutputName: 'DomainTarget',
              Region: 'eu-central-1',
            },
          },
        }),
      ],
    },
  });
});

test('the origin secret is a reference, and a rotation changes the reference', () => {
  const headerOf = (of: Template): string =>
    JSON.stringify(of.findResources('AWS::CloudFront::Distribution')).match(
      /\{"HeaderName":"x-origin-secret".*?\}\]/,
    )?.[0] ?? '';
  expect(headerOf(template)).toMatch(
    /\{\{resolve:secretsmanager:.*"Ref":"OriginSecret\w+".*:SecretString:::\}\}/,
  );
  expect(headerOf(changed)).toContain(`:SecretString:::${originSecretVersion}}}`);
});

test('AWS WAF stops an address that sends too much, and shows no requests, which hold credentials', () => {
  const visible = { SampledRequestsEnabled: false };
  changed.hasResourceProperties('AWS::WAFv2::WebACL', {
    Scope: 'CLOUDFRONT',
    DefaultAction: { Allow: {} },
    VisibilityConfig: visible,
    Rules: [
      {
        Action: { Block: {} },
        Statement: {
          RateBasedStatement: { AggregateKeyType: 'IP', EvaluationWindowSec: 300, Limit: 300 },
        },
        VisibilityConfig: visible,
      },
    ],
  });
});

describe('addresses that are allowed', () => {
  const allowed = ['192.0.2.0/24', '198.51.100.7/32', '2001:db8::/48'];
  const limited = { edgeTokenRateLimit: 20, edgeAllowedAddresses: allowed.join(',') };
  const rules = async (more: Record<string, unknown>) =>
    Object.values((await edgeWith(more)).template.findResources('AWS::WAFv2::WebACL'))[0]
      ?.Properties.Rules;
  const scopeOf = async (more: Record<string, unknown>, place: number) =>
    (await rules(more))[place].Statement.RateBasedStatement.ScopeDownStatement?.AndStatement
      .Statements;
  const outsideBoth = ['IPV4', 'IPV6'].map((version) => {
    const Arn = { 'Fn::GetAtt': [expect.stringMatching(`^Allowed${version}`), 'Arn'] };
    return { NotStatement: { Statement: { IPSetReferenceStatement: { Arn } } } };
  });

  test('are in a set for each version of IP, which the rule does not count', async () => {
    const { template: allowing } = await edgeWith(limited);
    const sets = Object.values(allowing.findResources('AWS::WAFv2::IPSet'));
    expect(sets.map(({ Properties }) => Properties)).toEqual([
      { Scope: 'CLOUDFRONT', IPAddressVersion: 'IPV4', Addresses: allowed.slice(0, 2) },
      { Scope: 'CLOUDFRONT', IPAddressVersion: 'IPV6', Addresses: allowed.slice(2) },
    ]);
    expect(await scopeOf(limited, 0)).toEqual(outsideBoth);
    template.resourceCountIs('AWS::WAFv2::IPSet', 0);
    expect(await scopeOf({}, 0)).toBeUndefined();
  });

  test('are not counted by the rule of the token route either, which has a limit of its own', async () => {
    expect(await rules(limited)).toMatchObject([
      { Priority: 0, Statement: { RateBasedStatement: { Limit: 2000 } } },
      {
        Priority: 1,
        Action: { Block: {} },
        Statement: { RateBasedStatement: { Limit: 20, AggregateKeyType: 'IP' } },
        VisibilityConfig: { SampledRequestsEnabled: false },
      },
    ]);
    const statement = (
      FieldToMatch: object,
      PositionalConstraint: string,
      SearchString: string,
    ) => ({
      ByteMatchStatement: expect.objectContaining({
        FieldToMatch,
        PositionalConstraint,
        SearchString,
      }),
    });
    const tokenRequests = [
      statement({ Method: {} }, 'EXACTLY', 'POST'),
      statement({ UriPath: {} }, 'STARTS_WITH', '/v2/marketing/oauth/token'),
    ];
    expect(await scopeOf(limited, 1)).toEqual([...tokenRequests, ...outsideBoth]);
    expect(await scopeOf({ edgeTokenRateLimit: 20 }, 1)).toEqual(tokenRequests);
    expect(await rules({})).toHaveLength(1);
  });
});

describe("AWS's own rules", () => {
  const both = { edgeManagedRules: ['known-bad-inputs', 'ip-reputation'] };
  const rulesOf = ({ template: of }: { template: Template }) =>
    Object.values(of.findResources('AWS::WAFv2::WebACL'))[0]?.Properties.Rules;

  test('are none by default, and come after the limits of addresses', async () => {
    expect(rulesOf(edge)).toHaveLength(1);
    const managed = (Priority: number, Name: string) => ({
      Priority,
      OverrideAction: { None: {} },
      Statement: { ManagedRuleGroupStatement: { VendorName: 'AWS', Name } },
      VisibilityConfig: { SampledRequestsEnabled: false },
    });
    expect(rulesOf(await edgeWith(both))).toMatchObject([
      { Name: 'RatePerAddress', Priority: 0 },
      managed(1, 'AWSManagedRulesKnownBadInputsRuleSet'),
      managed(2, 'AWSManagedRulesAmazonIpReputationList'),
    ]);
  });

  test('let allowed addresses have any reputation, but send no known attack', async () => {
    const allowing = await edgeWith({ ...both, edgeAllowedAddresses: '192.0.2.0/24' });
    const [, attacks, reputation] = rulesOf(allowing).map(
      (rule: CfnWebACL.RuleProperty) => JSON.stringify(rule).match(/Allowed(?=IPV\d)/g) ?? [],
    );
    expect([attacks, reputation]).toEqual([[], ['Allowed', 'Allowed']]);
  });
});

test("CloudFront adds the caller's address to what the caller sends, and only behind an edge do functions believe it", async () => {
  template.hasResourceProperties('AWS::CloudFront::OriginRequestPolicy', {
    OriginRequestPolicyConfig: {
      HeadersConfig: {
        HeaderBehavior: 'allViewerAndWhitelistCloudFront',
        Headers: ['CloudFront-Viewer-Address'],
      },
      QueryStringsConfig: { QueryStringBehavior: 'all' },
    },
  });
  const believing = (VIEWER_ADDRESS: unknown) => ({
    Environment: { Variables: { VIEWER_ADDRESS } },
  });
  (await templateWith(withEdge)).allResourcesProperties(
    'AWS::Lambda::Function',
    believing('trusted'),
  );
  (await templateWith()).allResourcesProperties('AWS::Lambda::Function', believing(Match.absent()));
});

describe('the logs of the edge', () => {
  test('are there only when the setting says so', () => {
    template.resourceCountIs('AWS::Logs::LogGroup', 0);
    logging.resourceCountIs('AWS::Logs::LogGroup', 2);
  });

  test("have each request with its caller's address, but no path, query or credential", () => {
    logging.hasResourceProperties('AWS::Logs::Delivery', {
      RecordFields: Match.arrayWith(['c-ip', 'cs-method', 'sc-status']),
    });
    const [delivery] = Object.values(logging.findResources('AWS::Logs::Delivery'));
    const secret = /cs-uri|cs\(|host/i;
    expect(delivery?.Properties.RecordFields.filter((field: string) => secret.test(field))).toEqual(
      [],
    );
    logging.hasResourceProperties('AWS::WAFv2::LoggingConfiguration', {
      LoggingFilter: {
        DefaultBehavior: 'DROP',
        Filters: [{ Behavior: 'KEEP', Conditions: [{ ActionCondition: { Action: 'BLOCK' } }] }],
      },
      RedactedFields: [
        { UriPath: {} },
        { QueryString: {} },
        ...['authorization', 'authentication', 'cookie'].map((Name) => ({
          SingleHeader: { Name },
        })),
      ],
    });
  });

  test('are kept as long as the others, where the services demand it, encrypted with the key', () => {
    for (const LogGroupName of ['/aws/vendedlogs/a-stack/edge', 'aws-waf-logs-a-stack'])
      logging.hasResourceProperties('AWS::Logs::LogGroup', {
        LogGroupName,
        RetentionInDays: 30,
        KmsKeyId: withKey.edgeKmsKeyArn,
      });
    logging.hasResourceProperties('AWS::SecretsManager::Secret', {
      KmsKeyId: withKey.edgeKmsKeyArn,
    });
  });
});

test('the page about costs counts what is billed by the month', () => {
  template.resourceCountIs('AWS::WAFv2::WebACL', edgeParts.webAcl);
  template.resourceCountIs('AWS::SecretsManager::Secret', edgeParts.secret);
  template.hasResourceProperties('AWS::WAFv2::WebACL', {
    Rules: Array.from({ length: edgeParts.rule }, () => Match.anyValue()),
  });
});
