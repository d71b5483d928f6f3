import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { settingNames } from '../../infra/settings/settings.ts';
import { type Deployable, deployableSchema, type StackTemplate } from './releases.ts';
import {
  effectiveProperties,
  fixedProperties,
  idsIn,
  type Resource,
  withAllTheyNeed,
} from './resources.ts';

/**
 * What today's code deploys.
 * @param stacks the templates of a deployment with a domain and an edge
 */
export const today = (stacks: { service: unknown; edge: unknown }): Deployable =>
  v.parse(deployableSchema, { settings: settingNames, stacks });

/**
 * The properties of a resource that an update must not change; undefined when the resource itself
 * may go.
 */
function fixedOf({ Type, DeletionPolicy }: Resource): readonly string[] | undefined {
  // Each release makes versions of its own. Those before are retained, so that it can be taken back.
  if (Type === 'AWS::Lambda::Version') return undefined;
  return fixedProperties[Type] ?? (DeletionPolicy?.startsWith('Retain') ? [] : undefined);
}

const isCompared = (resource: Resource | undefined): boolean =>
  resource !== undefined &&
  (fixedOf(resource) !== undefined || resource.Type in effectiveProperties);

/** The parts of a version that later ones are compared with. */
export function comparedParts({ settings, stacks }: Deployable): Deployable {
  const partOf = (resource: Resource): Resource => {
    const { Type, DeletionPolicy, Properties, UpdatePolicy } = resource;
    const names = [...(fixedProperties[Type] ?? []), ...(effectiveProperties[Type] ?? [])];
    const kept = Object.entries(Properties).filter(([name]) => names.includes(name));
    return {
      Type,
      DeletionPolicy,
      DependsOn: idsIn(resource),
      Properties: Object.fromEntries(kept),
      UpdatePolicy,
    };
  };
  const compared = ({ Resources, Outputs }: StackTemplate): StackTemplate => {
    const needed = withAllTheyNeed(
      Resources,
      Object.keys(Resources).filter((id) => isCompared(Resources[id])),
    );
    const kept = Object.entries(Resources).filter(([id]) => needed.has(id));
    return {
      Parameters: {},
      Resources: Object.fromEntries(kept.map(([id, one]) => [id, partOf(one)])),
      Outputs: Object.fromEntries(Object.keys(Outputs).map((name) => [name, {}])),
    };
  };
  return {
    settings,
    stacks: Object.fromEntries(
      Object.entries(stacks).map(([name, stack]) => [name, compared(stack)]),
    ),
  };
}

/**
 * Reasons why a deployment of one version over another would fail, or lose something. Empty when
 * there are none.
 */
export const upgradeProblems = (before: Deployable, after: Deployable): string[] => [
  ...before.settings
    .filter((name) => !after.settings.includes(name))
    .map((name) => `The setting ${name} is gone.`),
  ...Object.entries(before.stacks).flatMap(([name, template]) => {
    const updated = after.stacks[name];
    return updated ? stackProblems(template, updated) : [`The stack ${name} is gone.`];
  }),
];

const stackProblems = (before: StackTemplate, after: StackTemplate): string[] => [
  ...Object.entries(after.Parameters)
    .filter(([, { Default }]) => Default === undefined)
    .map(([name]) => `The parameter ${name} has no default.`),
  ...Object.keys(before.Outputs)
    .filter((name) => !(name in after.Outputs))
    .map((name) => `The output ${name} is gone.`),
  ...Object.entries(before.Resources).flatMap(([id, resource]) =>
    resourceProblems(id, resource, after.Resources[id]),
  ),
];

function resourceProblems(id: string, before: Resource, after: Resource | undefined): string[] {
  const fixed = fixedOf(before);
  if (!fixed) return [];
  if (after?.Type !== before.Type)
    return [`${id} (${before.Type}) is gone, or has another logical id.`];
  const changed = fixed.filter(
    (name) => !isDeepStrictEqual(before.Properties[name], after.Properties[name]),
  );
  const outlives = [before, after].map(
    ({ DeletionPolicy }) => DeletionPolicy?.startsWith('Retain') ?? false,
  );
  return [
    ...(outlives[0] && !outlives[1] ? [`${id} is deleted with the stack.`] : []),
    ...changed.map((name) => `${id} has another ${name}.`),
    ...(before.Type === 'AWS::DynamoDB::Table' ? tableProblems(id, before, after) : []),
  ];
}

const tableSchema = v.object({
  AttributeDefinitions: v.array(v.object({ AttributeName: v.string(), AttributeType: v.string() })),
  GlobalSecondaryIndexes: v.optional(v.array(v.looseObject({ IndexName: v.string() })), []),
});

/**
 * @see AWS CloudFormation template reference, "AWS::DynamoDB::Table", `AttributeDefinitions` and
 *   `GlobalSecondaryIndexes`
 */
function tableProblems(
  id: string,
  { Properties: before }: Resource,
  { Properties: after }: Resource,
): string[] {
  const [old, updated] = [v.parse(tableSchema, before), v.parse(tableSchema, after)];
  const types = new Map(
    updated.AttributeDefinitions.map(({ AttributeName, AttributeType }) => [
      AttributeName,
      AttributeType,
    ]),
  );
  const retyped = old.AttributeDefinitions.filter(
    ({ AttributeName, AttributeType }) =>
      (types.get(AttributeName) ?? AttributeType) !== AttributeType,
  );
  const indexes = [old, updated].map(
    ({ GlobalSecondaryIndexes }) =>
      new Map(GlobalSecondaryIndexes.map((index) => [index.IndexName, index])),
  );
  const names = [...new Set(indexes.flatMap((byName) => [...byName.keys()]))];
  const isIn = (name: string): boolean[] => indexes.map((byName) => byName.has(name));
  const madeOrDeleted = names.filter((name) => isIn(name).includes(false));
  const changed = names.filter((name) => {
    const [one, other] = indexes.map((byName) => byName.get(name));
    return one && other && !isDeepStrictEqual(one, other);
  });
  return [
    ...retyped.map(({ AttributeName }) => `${id} has another type of ${AttributeName}.`),
    ...changed.map(
      (name) => `${id} changes the index ${name}, which can only be deleted and created.`,
    ),
    ...(madeOrDeleted.length > 1
      ? [
          `${id} creates or deletes ${madeOrDeleted.join(' and ')}; an update can do so with one index.`,
        ]
      : []),
  ];
}
