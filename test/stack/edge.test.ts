import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { version } from '../../infra/version.ts';
import { edgeParts } from '../capacity/prices.ts';
import { stackWith, withEdge } from '../support/template.ts';

function edgeWith(more: Record<string, unknown> = {}) {
  const { stack, edge } = stackWith({ ...withEdge, ...more });
  if (!edge) throw new Error('There is no edge.');
  return { stack, edge, template: Template.fromStack(edge) };
}

const { stack, edge, template } = edgeWith();

test('the edge is a stack of its own in us-east-1, after that of the service', () => {
  expect(edge.environment).toBe('aws://123456789012/us-east-1');
  expect(edge.dependencies).toEqual([stack]);
  expect(edge.terminationProtection).toBe(true);
  expect(stackWith({ ...withEdge, edge: false }).edge).toBeUndefined();
});

test('both stacks, and so all their resources, have a tag with the version', () => {
  for (const one of [stack, edge]) expect(one.tags.tagValues()).toEqual({ 'login-service:version': version });
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
        // AWS's CachingDisabled, AllViewer and SecurityHeadersPolicy.
        CachePolicyId: '4135ea2d-6df8-44a3-9df3-4b5a84be39ad',
        OriginRequestPolicyId: '216adef6-5c7f-47e4-b989-5492eafa07d3',
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
  const originSecretVersion = createHash('md5').update('next').digest('hex');
  expect(headerOf(edgeWith({ originSecretVersion }).template)).toContain(
    `:SecretString:::${originSecretVersion}}}`,
  );
});

test('AWS WAF stops an address that sends too much, and shows no requests, which hold credentials', () => {
  const visible = { SampledRequestsEnabled: false };
  edgeWith({ edgeRateLimit: 300 }).template.hasResourceProperties('AWS::WAFv2::WebACL', {
    Scope: 'CLOUDFRONT',
    DefaultAction: { Allow: {} },
    VisibilityConfig: visible,
    Rules: [
      {
        Action: { Block: {} },
        Statement: { RateBasedStatement: { AggregateKeyType: 'IP', EvaluationWindowSec: 300, Limit: 300 } },
        VisibilityConfig: visible,
      },
    ],
  });
});

test('the page about costs counts what is billed by the month', () => {
  template.resourceCountIs('AWS::WAFv2::WebACL', edgeParts.webAcl);
  template.resourceCountIs('AWS::SecretsManager::Secret', edgeParts.secret);
  template.hasResourceProperties('AWS::WAFv2::WebACL', {
    Rules: Array.from({ length: edgeParts.rule }, () => Match.anyValue()),
  });
});
