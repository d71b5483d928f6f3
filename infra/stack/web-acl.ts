import { CfnIPSet, CfnWebACL } from 'aws-cdk-lib/aws-wafv2';
import type { Construct } from 'constructs';
import { tokenPath } from '../../lib/tokens/issuer.ts';
import type { Settings } from '../settings/settings.ts';

type Condition = CfnWebACL.StatementProperty;
type Rule = Omit<CfnWebACL.RuleProperty, 'priority'>;

/** Samples of requests would show credentials. */
const visible = { cloudWatchMetricsEnabled: true, sampledRequestsEnabled: false };

/**
 * The rules of AWS WAF in front of a deployment. They block addresses that send too much, unless
 * they are allowed, and what AWS's own rules find.
 */
export function makeWebAcl(scope: Construct, settings: Settings): CfnWebACL {
  const { stack, edgeRateLimit, edgeTokenRateLimit, edgeAllowedAddresses = [] } = settings;
  const outside = edgeAllowedAddresses.length > 0 ? outsideOf(scope, edgeAllowedAddresses) : [];
  const rules = [limitOf(stack, 'RatePerAddress', edgeRateLimit, outside)];
  if (edgeTokenRateLimit !== undefined) {
    const conditions = [...tokenRequests, ...outside];
    rules.push(limitOf(stack, 'TokenRatePerAddress', edgeTokenRateLimit, conditions));
  }
  for (const group of new Set(settings.edgeManagedRules))
    rules.push(managedRule(stack, group, outside));
  return new CfnWebACL(scope, 'WebAcl', {
    scope: 'CLOUDFRONT',
    defaultAction: { allow: {} },
    visibilityConfig: { ...visible, metricName: stack },
    rules: rules.map((rule, priority) => ({ ...rule, priority })),
  });
}

/** Blocks an address that sends more requests that meet all conditions in five minutes. */
function limitOf(stack: string, name: string, limit: number, conditions: Condition[]): Rule {
  return {
    name,
    statement: {
      rateBasedStatement: {
        limit,
        aggregateKeyType: 'IP',
        evaluationWindowSec: 300,
        ...scopedTo(conditions),
      },
    },
    action: { block: {} },
    visibilityConfig: { ...visible, metricName: metricNameOf(stack, name) },
  };
}

/**
 * Blocks what a group of AWS's own rules finds. Their list of addresses doesn't apply to those that
 * are allowed.
 * @see AWS WAF developer guide, "AWS Managed Rules rule groups list"
 */
function managedRule(
  stack: string,
  group: NonNullable<Settings['edgeManagedRules']>[number],
  outside: Condition[],
): Rule {
  const name = managedNames[group];
  return {
    name,
    statement: {
      managedRuleGroupStatement: {
        vendorName: 'AWS',
        name: `AWSManagedRules${name}`,
        ...scopedTo(group === 'ip-reputation' ? outside : []),
      },
    },
    // Each rule of the group keeps its own action, which is to block.
    overrideAction: { none: {} },
    visibilityConfig: { ...visible, metricName: metricNameOf(stack, name) },
  };
}

const managedNames = {
  'ip-reputation': 'AmazonIpReputationList',
  'known-bad-inputs': 'KnownBadInputsRuleSet',
} as const;

/** The metric of a rule: `live-rate-per-address` is that of `RatePerAddress`. */
const metricNameOf = (stack: string, rule: string): string =>
  stack + rule.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The part of a statement that keeps it to requests that meet all conditions. */
function scopedTo(conditions: Condition[]): { scopeDownStatement?: Condition } {
  if (conditions.length === 0) return {};
  return { scopeDownStatement: { andStatement: { statements: conditions } } };
}

/** Conditions that requests from other addresses meet. A set has addresses of one version of IP. */
function outsideOf(scope: Construct, addresses: string[]): Condition[] {
  const isIpv6 = (address: string): boolean => address.includes(':');
  const addressesOf = {
    IPV4: addresses.filter((address) => !isIpv6(address)),
    IPV6: addresses.filter(isIpv6),
  };
  return Object.entries(addressesOf).map(([ipAddressVersion, members]) => {
    const set = new CfnIPSet(scope, `Allowed${ipAddressVersion}`, {
      scope: 'CLOUDFRONT',
      ipAddressVersion,
      addresses: members,
    });
    const inSet: Condition = { ipSetReferenceStatement: { arn: set.attrArn } };
    return { notStatement: { statement: inSet } };
  });
}

const match = (
  fieldToMatch: CfnWebACL.FieldToMatchProperty,
  positionalConstraint: 'EXACTLY' | 'STARTS_WITH',
  searchString: string,
  decoded: string[],
): Condition => {
  const textTransformations = decoded.map((type, priority) => ({ priority, type }));
  return {
    byteMatchStatement: { fieldToMatch, positionalConstraint, searchString, textTransformations },
  };
};

/** The conditions of a request to the token route, however its path is encoded. */
const tokenRequests = [
  match({ method: {} }, 'EXACTLY', 'POST', ['NONE']),
  match({ uriPath: {} }, 'STARTS_WITH', tokenPath, ['URL_DECODE', 'NORMALIZE_PATH']),
];
