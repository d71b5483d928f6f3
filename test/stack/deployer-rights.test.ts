import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { Template } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { codeBlock } from '../support/code-blocks.ts';
import { handlerPermissions } from '../support/handler-permissions.ts';
import {
  everything,
  isLike,
  root,
  stackWith,
  template,
  templateWith,
  watching,
  watchingWith,
} from '../support/template.ts';

const oneOrMore = v.pipe(
  v.union([v.string(), v.array(v.string())]),
  v.transform((value) => (typeof value === 'string' ? [value] : value)),
);
const policySchema = v.object({
  Statement: v.array(
    v.object({
      Sid: v.string(),
      Action: oneOrMore,
      Resource: oneOrMore,
      Condition: v.optional(v.object({ StringEquals: v.record(v.string(), v.string()) })),
    }),
  ),
});
const policyIn = (name: string) => {
  const json = readFileSync(join(root, `deployments/policies/${name}.json`), 'utf8');
  return { json, ...v.parse(policySchema, JSON.parse(json)) };
};
const [boundary, execution] = [policyIn('boundary'), policyIn('cloudformation')];
const actionsOf = (policy: typeof boundary) => policy.Statement.flatMap(({ Action }) => Action);

// Every role and every type of resource is in one of these.
const { stack, edge } = stackWith(everything, {
  moreContext: { '@aws-cdk/core:permissionsBoundary': { name: 'live-boundary' } },
});
if (!edge) throw new Error('There is no edge.');
const bounded = Template.fromStack(stack);
const templates = [
  ...[bounded, Template.fromStack(stack.watching), Template.fromStack(edge)],
  ...[template, watching, templateWith(everything), watchingWith(everything)],
];
const types = new Set(
  templates.flatMap((one) =>
    Object.values(v.parse(v.record(v.string(), v.object({ Type: v.string() })), one.toJSON().Resources)).map(
      ({ Type }) => Type,
    ),
  ),
);

test.each([boundary, execution])('a policy is no longer than IAM takes', ({ json }) => {
  expect(JSON.stringify(JSON.parse(json)).length).toBeLessThanOrEqual(6144);
});

describe('the boundary', () => {
  test('is that of every role when cdk.json names it', () => {
    const context = v.parse(
      v.record(v.string(), v.unknown()),
      JSON.parse(`{${codeBlock('production.md', 'json')}}`),
    );
    expect(context).toEqual({ '@aws-cdk/core:permissionsBoundary': { name: 'live-boundary' } });
    const roles = Object.values(bounded.findResources('AWS::IAM::Role'));
    const without = roles.filter(
      ({ Properties }) =>
        !JSON.stringify(Properties.PermissionsBoundary ?? '').includes(':policy/live-boundary"'),
    );
    expect({ some: roles.length > 30, without }).toEqual({ some: true, without: [] });
  });

  test('allows exactly what the roles may do', () => {
    const given = templates.flatMap(
      (one) =>
        JSON.stringify(one.findResources('AWS::IAM::Role')).match(
          /(?<=")(?!sts:|kms:ViaService|dynamodb:LeadingKeys)[a-z\d]+:(?=[A-Z])[A-Za-z]+(?=")/g,
        ) ?? [],
    );
    // What AWS's own policy for the role of CodeDeploy has of what Lambda needs: AWSCodeDeployRoleForLambdaLimited.
    const codeDeploy = [
      'cloudwatch:DescribeAlarms',
      ...['GetAlias', 'GetProvisionedConcurrencyConfig', 'UpdateAlias'].map((action) => `lambda:${action}`),
    ];
    expect(actionsOf(boundary).sort()).toEqual([...new Set([...given, ...codeDeploy])].sort());
  });
});

describe("the policy of CloudFormation's role", () => {
  const needed = [...types].flatMap((type) =>
    (handlerPermissions[type] ?? '').split(' ').flatMap((service) => {
      const [prefix, actions = ''] = service.split(':');
      return actions.split(',').map((action) => `${prefix}:${action}`);
    }),
  );
  const always = ['s3:GetObject', 'ssm:GetParameters', 'iam:PutRolePermissionsBoundary'];

  test('is about each type of resource in the templates', () => {
    expect(Object.keys(handlerPermissions).sort()).toEqual([...types].sort());
  });

  test('allows what they need, but not to take a boundary away', () => {
    const lacking = needed.filter((action) => !actionsOf(execution).some((form) => isLike(action, form)));
    expect([...new Set(lacking)]).toEqual(['iam:DeleteRolePermissionsBoundary']);
  });

  // The edge reads the address of the API from the stack of the service, with the role of its own deployment.
  // @see AWS CloudFormation template reference, "Fn::GetStackOutput": RoleArn
  test.each(['live', 'live-edge', 'live-Watching'])('is about the stack %s', (name) => {
    const arn = `arn:aws:cloudformation:eu-central-1:123456789012:stack/${name}/id`;
    const forms = execution.Statement.flatMap(({ Resource }) => Resource);
    expect(forms.filter((form) => form !== '*' && isLike(arn, form))).toHaveLength(1);
  });

  test('allows nothing that none of them needs', () => {
    const all = [...needed, ...always];
    expect(actionsOf(execution).filter((form) => !all.some((action) => isLike(action, form)))).toEqual([]);
  });

  test('gives rights to a role only with the boundary, and to no other names', () => {
    const giving = [
      'iam:CreateRole',
      'iam:PutRolePolicy',
      'iam:AttachRolePolicy',
      'iam:PutRolePermissionsBoundary',
    ];
    const about = execution.Statement.filter(({ Action }) => Action.some((one) => giving.includes(one)));
    expect(about.map(({ Sid }) => Sid)).toEqual(['RolesWithTheBoundaryAlone']);
    expect(about[0]?.Condition?.StringEquals).toEqual({
      'iam:PermissionsBoundary': 'arn:aws:iam::123456789012:policy/live-boundary',
    });
    const iam = execution.Statement.filter(({ Action }) => Action.some((one) => /^(iam:|\*)/.test(one)));
    expect(iam.flatMap(({ Resource }) => Resource)).not.toContain('*');
  });
});
