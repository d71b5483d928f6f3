import { expect, test } from '@jest/globals';
import * as v from 'valibot';
import { readSettings } from '../../infra/settings/settings.ts';
import { type Deployable, deployableSchema, releases } from './releases.ts';
import { todayWith } from './today.ts';
import { comparedParts, upgradeProblems } from './upgrade-problems.ts';

const current = await todayWith();

/** A copy of the same realm, as structuredClone does not make one in jest. */
const copyOf = (version: Deployable): Deployable =>
  v.parse(deployableSchema, JSON.parse(JSON.stringify(version)));

test.each([...releases])("today's code can be deployed over release $version", (release) => {
  expect(upgradeProblems(release, current)).toEqual([]);
});

test('a deployment need not set anything', () => {
  expect(() => readSettings({})).not.toThrow();
});

const table = 'TableCD117FA1';
const secret = 'SecretsRefreshTokens4B65249A';

type Change = (version: Deployable) => void;

const serviceOf = ({ stacks }: Deployable) => {
  if (!stacks.service) throw new Error('There is no stack of the service.');
  return stacks.service;
};

/** Gives a resource of the service other values of some properties. */
const setting =
  (id: string, properties: Record<string, unknown>): Change =>
  (version) =>
    void Object.assign(serviceOf(version).Resources[id]?.Properties ?? {}, properties);

const removing =
  (id: string): Change =>
  (version) =>
    void delete serviceOf(version).Resources[id];

const indexes = v.parse(
  v.array(v.looseObject({ IndexName: v.string() })),
  serviceOf(current).Resources[table]?.Properties.GlobalSecondaryIndexes,
);
const [first] = indexes;
const withIndexes = (...GlobalSecondaryIndexes: unknown[]): Change =>
  setting(table, { GlobalSecondaryIndexes });
const another = (IndexName: string) => ({ ...first, IndexName });

const isGone = (id: string, type: string): string =>
  `${id} (${type}) is gone, or has another logical id.`;

test.each<[what: string, change: Change, problem: string]>([
  ['a secret is removed', removing(secret), isGone(secret, 'AWS::SecretsManager::Secret')],
  [
    'the table has another logical id',
    (version) => {
      const { Resources } = serviceOf(version);
      Object.assign(Resources, { Renamed: Resources[table] });
      delete Resources[table];
    },
    isGone(table, 'AWS::DynamoDB::Table'),
  ],
  [
    'the table is of another type',
    (version) =>
      void Object.assign(serviceOf(version).Resources[table] ?? {}, {
        Type: 'AWS::DynamoDB::GlobalTable',
      }),
    isGone(table, 'AWS::DynamoDB::Table'),
  ],
  [
    'the stack at the edge is gone',
    ({ stacks }) => void delete stacks.edge,
    'The stack edge is gone.',
  ],
  [
    'a secret is deleted with the stack',
    (version) =>
      void Object.assign(serviceOf(version).Resources[secret] ?? {}, { DeletionPolicy: 'Delete' }),
    `${secret} is deleted with the stack.`,
  ],
  [
    'the table has a name',
    setting(table, { TableName: 'people' }),
    `${table} has another TableName.`,
  ],
  [
    'an attribute has another type',
    setting(table, { AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'N' }] }),
    `${table} has another type of pk.`,
  ],
  [
    'two indexes are created',
    withIndexes(...indexes, another('by_one'), another('by_two')),
    `${table} creates or deletes by_one and by_two; an update can do so with one index.`,
  ],
  [
    'an index gives way to another',
    withIndexes(...indexes.slice(1), another('by_one')),
    `${table} creates or deletes ${first?.IndexName} and by_one; an update can do so with one index.`,
  ],
  [
    'an index has other keys',
    withIndexes({ ...first, KeySchema: [] }, ...indexes.slice(1)),
    `${table} changes the index ${first?.IndexName}, which can only be deleted and created.`,
  ],
  [
    'an output is gone',
    (version) => void delete serviceOf(version).Outputs.TableName,
    'The output TableName is gone.',
  ],
  [
    'a parameter has no default',
    (version) => void Object.assign(serviceOf(version).Parameters, { Team: { Type: 'String' } }),
    'The parameter Team has no default.',
  ],
  [
    'a setting is gone',
    ({ settings }) => void settings.splice(settings.indexOf('canary'), 1),
    'The setting canary is gone.',
  ],
])('%s: rejected', (_, change, problem) => {
  const doctored = copyOf(current);
  change(doctored);
  expect(upgradeProblems(current, doctored)).toEqual([problem]);
  expect(upgradeProblems(comparedParts(current), doctored)).toEqual([problem]);
});

test('whatever is to outlive the stack must stay, also if it is of a type that nobody has thought of', () => {
  const before = copyOf(current);
  serviceOf(before).Resources.Photos = {
    Type: 'AWS::S3::Bucket',
    DeletionPolicy: 'Retain',
    Properties: {},
  };
  expect(upgradeProblems(comparedParts(before), current)).toEqual([
    isGone('Photos', 'AWS::S3::Bucket'),
  ]);
});

test.each<[what: string, change: Change]>([
  ['one index is created', withIndexes(...indexes, another('by_one'))],
  ['one index is deleted', withIndexes(...indexes.slice(1))],
  ['the table is warm', setting(table, { WarmThroughput: { WriteUnitsPerSecond: 8000 } })],
  ['a function is removed', removing('ForwardAudit')],
  [
    'there is another output',
    (version) => void Object.assign(serviceOf(version).Outputs, { More: {} }),
  ],
])('%s: accepted', (_, change) => {
  const doctored = copyOf(current);
  change(doctored);
  expect(doctored).not.toEqual(current);
  expect(upgradeProblems(current, doctored)).toEqual([]);
});
