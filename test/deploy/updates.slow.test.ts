import { expect, test } from '@jest/globals';
import { type Deployable, oldestRelease, releases } from '../upgrade/releases.ts';
import { idIn, ofType, type Resource, type Resources } from '../upgrade/resources.ts';
import { todayWith } from '../upgrade/today.ts';
import { orders, problemsOf, Template } from './simulate-update.ts';

const serviceIn = ({ stacks }: Deployable): Resources => {
  if (!stacks.service) throw new Error('There is no stack of the service.');
  return stacks.service.Resources;
};
const released = new Template(serviceIn(oldestRelease));
const now = new Template(serviceIn(await todayWith()));
/** Every function has another right, and so has every policy. */
const next = new Template(serviceIn(await todayWith({ tracing: true })));

/** Two of the aliases: one in the middle, and the last one. */
const failing = ['IntrospectTokenLive', 'IssueTokenLive'];

/**
 * All that is wrong with an update in either order, and with its rollback when the deployment of an
 * alias fails.
 */
function* problemsBetween(before: Template, after: Template): Generator<string> {
  for (const order of orders) {
    yield* problemsOf({ before, after, order });
    for (const alias of failing)
      for (const back of orders) yield* problemsOf({ before, after, order, failing: alias, back });
  }
}

/** Looks no further than to the first that matches. */
function findsOne(problems: Iterable<string>, problem: RegExp): boolean {
  for (const one of problems) if (problem.test(one)) return true;
  return false;
}

const updatesOfReleases = releases.flatMap((release): [string, Template, Template][] => {
  const template = new Template(serviceIn(release));
  return [
    [`from ${release.version} to today's code`, template, now],
    [`from today's code to ${release.version}`, now, template],
  ];
});

test.each<[string, Template, Template]>([
  ...updatesOfReleases,
  ['to code with other rights', now, next],
  ['from code with other rights', next, now],
])(
  'an update %s leaves all code that may be called what it needs, also when it is rolled back',
  (_, before, after) => {
    expect([...problemsBetween(before, after)]).toEqual([]);
  },
);

type Change = (id: string, resource: Resource) => [string, Resource][];

/** A template in which resources of one type are others. */
const changed = (template: Template, type: string, change: Change): Template =>
  new Template(
    Object.fromEntries(
      Object.entries(template.resources).flatMap(([id, one]) =>
        one.Type === type ? change(id, one) : [[id, one]],
      ),
    ),
  );
const withProperties = (one: Resource, properties: Record<string, unknown>): Resource => ({
  ...one,
  Properties: { ...one.Properties, ...properties },
});

const policy = 'AWS::IAM::Policy';
const withoutPolicies = changed(now, policy, () => []);
/** As in 1.0.0: the rights in the roles alone. */
const inline = changed(withoutPolicies, 'AWS::IAM::Role', (id, role) => {
  const beside = ofType(now.resources, policy).filter(
    ([, { Properties }]) => idIn(Properties.Roles) === id,
  );
  const Policies = beside.map(([, { Properties }]) => ({
    PolicyName: 'Rights',
    PolicyDocument: Properties.PolicyDocument,
  }));
  return [[id, Policies.length > 0 ? withProperties(role, { Policies }) : role]];
});
const withoutInline = (template: Template): Template =>
  changed(template, 'AWS::IAM::Role', (id, role) => {
    const hasPolicy = ofType(template.resources, policy).some(
      ([, one]) => idIn(one.Properties.Roles) === id,
    );
    return [[id, hasPolicy ? withProperties(role, { Policies: [] }) : role]];
  });

test('the next release can leave the rights of 1.0.0 out of the roles', () => {
  expect([...problemsBetween(now, withoutInline(next))]).toEqual([]);
  expect([...problemsBetween(withoutInline(next), now)]).toEqual([]);
});

const linkIdentity = /linkidentityFunctionCurrentVersion\w+ lacks \["dynamodb:DeleteItem"/;

const table = 'AWS::DynamoDB::Table';
const withoutIndex = (template: Template): Template =>
  changed(template, table, (id, one) => [
    [id, withProperties(one, { GlobalSecondaryIndexes: [] })],
  ]);
const withOtherEnvironment = changed(now, 'AWS::Lambda::Function', (id, one) => [
  [id, withProperties(one, { Environment: { Variables: {} } })],
]);

test.each<[string, before: Template, after: Template, problem: RegExp]>([
  ['has rights in its roles alone', released, inline, linkIdentity],
  ['takes the rights of 1.0.0 from the roles', released, withoutInline(now), linkIdentity],
  [
    'gives policies of one name other rights',
    now,
    changed(next, policy, (id, one) => [[id, withProperties(one, { PolicyName: 'Rights' })]]),
    /lacks \[/,
  ],
  [
    'publishes no version with another environment',
    now,
    withOtherEnvironment,
    /lacks its environment/,
  ],
  ['drops an index that today uses', released, withoutIndex(now), /lacks by_list/],
])('an update that %s is found out', (_, before, after, problem) => {
  expect(findsOne(problemsBetween(before, after), problem)).toBe(true);
});
