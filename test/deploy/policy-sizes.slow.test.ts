import { expect, test } from '@jest/globals';
import * as v from 'valibot';
import { readSettings, settingNames } from '../../infra/settings/settings.ts';
import { everything } from '../support/deployments.ts';
import { account } from '../support/resolve-template.ts';
import { templateWith } from '../support/template.ts';
import { ofType, type Resource, type Resources } from '../upgrade/resources.ts';
import { today } from '../upgrade/upgrade-problems.ts';
import { longestPlace } from './policy-size.ts';
import { problemsOf, Template } from './simulate-update.ts';

type Given = Record<string, unknown>;

const { partition, region, stack } = longestPlace;

const arn = (service: string, resource: string, where = region): string =>
  `arn:${partition}:${service}:${where}:${account}:${resource}`;
const key = (letter: string): string => `key/mrk-${letter.repeat(32)}`;
const hook = (letter: string): string => `function:${letter.repeat(64)}:${letter.repeat(128)}`;
const restored = `${stack}-restored-202601310800`;

/** Every setting is on, with the longest names. */
const longest: Given = {
  ...everything,
  stack,
  region,
  certificateArn: arn('acm', 'certificate/1234-abcd'),
  kmsKeyArn: arn('kms', key('a')),
  loginHook: arn('lambda', hook('a')),
};

/** Changes of settings on which the rights of functions depend. `undefined` switches one off. */
const changes: [change: string, Given][] = [
  ['another key', { kmsKeyArn: arn('kms', key('b')) }],
  ['no key', { kmsKeyArn: undefined }],
  ['another hook', { loginHook: arn('lambda', hook('b')) }],
  ['no hook', { loginHook: undefined }],
  ['no tracing', { tracing: false }],
  ['no events', { publishEvents: false, archiveDays: undefined }],
  ['no canary', { canary: false }],
  ['another stage', { stage: 'development' }],
  [
    'a restored table',
    {
      tableName: restored,
      tableStreamArn: arn('dynamodb', `table/${restored}/stream/2026-01-31T08:00:00.000`),
      maxWriteUnits: undefined,
      warmReadUnits: undefined,
      change: 'tableName',
    },
  ],
];

const documentSchema = v.object({ Statement: v.array(v.unknown()) });

async function resourcesWith(settings: Given): Promise<Resources> {
  const service = (await templateWith({ ...longest, ...settings })).toJSON();
  return today({ service, edge: service }).stacks.service?.Resources ?? {};
}
const before = await resourcesWith({});

/** Whatever is too long at any step of an update, or of its rollback at the last alias. */
const excess = (after: Resources): string[] =>
  problemsOf({
    before: new Template(before),
    after: new Template(after),
    order: 'aliases first',
    failing: 'IssueTokenLive',
  }).filter((problem) => /holds \d+ characters/.test(problem));

test.each(changes)('IAM takes the policies of each role at each step: %s', async (_, settings) => {
  expect(excess(await resourcesWith(settings))).toEqual([]);
});

test('policies that are too long are found', () => {
  const doubled = Object.entries(before).map(([id, one]): [string, Resource] => {
    if (one.Type !== 'AWS::IAM::Policy') return [id, one];
    const { Statement } = v.parse(documentSchema, one.Properties.PolicyDocument);
    const PolicyDocument = { Statement: [...Statement, ...Statement] };
    return [
      id,
      { ...one, Properties: { ...one.Properties, PolicyName: 'Doubled', PolicyDocument } },
    ];
  });
  expect(excess(Object.fromEntries(doubled))).toContainEqual(
    expect.stringMatching(/^issuetokenRole\w+ holds \d+ characters/),
  );
});

/** Settings that don't change alone, or that production does not allow. */
const fixed = 'deployment stack account region change removalPolicy loopbackProviders'.split(' ');

/** Values of all forms of settings. */
const values: unknown[] = [
  ...[true, false, 1, 2, 3, 5, 7, 10, 50, 120, 1000, 5000, 20_001],
  ...['login', 'ES256', 'login.example.org', 'us-west-1', '198.51.100.0/24', 'ops@example.org'],
  ...['ip-reputation', 'a'.repeat(32), 'a'.repeat(64), { team: 'login' }],
  arn('acm', 'certificate/5678-abcd'),
  arn('acm', 'certificate/5678-abcd', 'us-east-1'),
  arn('kms', key('b'), 'us-east-1'),
];

/** The value that a setting has among others; undefined when they are wrong together. */
function settingIn(name: string, settings: Given): unknown {
  try {
    const given: Given = readSettings(JSON.parse(JSON.stringify(settings)));
    return given[name];
  } catch {
    return undefined;
  }
}

/** The rights of all roles, by the logical ids of roles and policies. */
const rightsIn = (resources: Resources) =>
  ['AWS::IAM::Role', 'AWS::IAM::Policy'].map((type) =>
    ofType(resources, type).map(([id, { Properties }]) => {
      const { Policies, PolicyDocument } = Properties;
      return { id, Policies, PolicyDocument };
    }),
  );

test('no other setting changes what a role may do', async () => {
  const known = [...fixed, ...changes.flatMap(([, settings]) => Object.keys(settings))];
  let changed = longest;
  for (const name of settingNames.filter((one) => !known.includes(one))) {
    const old = settingIn(name, changed);
    const other = values
      .map((value) => ({ ...changed, [name]: value }))
      .find((settings) => ![old, undefined].includes(settingIn(name, settings)));
    if (!other) throw new Error(`None of the values is another one of ${name}.`);
    changed = other;
  }
  expect(rightsIn(await resourcesWith(changed))).toEqual(rightsIn(before));
});
