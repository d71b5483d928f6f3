import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import {
  effectiveProperties,
  fixedProperties,
  idIn,
  idsIn,
  ofType,
  type Resource,
  type Resources,
  withAllTheyNeed,
} from '../upgrade/resources.ts';
import { sizeOf } from './policy-size.ts';

/**
 * Two of the orders that dependencies allow. In each, CloudFormation deletes what is no longer
 * needed when all else is done.
 */
export const orders = ['aliases first', 'aliases last'] as const;
type Order = (typeof orders)[number];

/**
 * The most characters of policies in one role. IAM takes 10,240.
 * @see IAM user guide, "IAM and AWS STS quotas": Role policy size
 */
const mostInRole = 9800;

interface Update {
  before: Template;
  after: Template;
  order: Order;
  /** The alias whose deployment fails, upon which the update is rolled back. */
  failing?: string;
  back?: Order;
}

/** An action on a resource under a condition, and the forms of the keys that it may be about. */
interface Right {
  about: string;
  keys: string[];
}

const statementSchema = v.looseObject({
  Action: v.unknown(),
  Resource: v.unknown(),
  Condition: v.optional(v.record(v.string(), v.record(v.string(), v.unknown())), {}),
});
const policySchema = v.object({
  PolicyName: v.string(),
  PolicyDocument: v.looseObject({ Statement: v.array(statementSchema) }),
});

const indexesSchema = v.array(v.object({ IndexName: v.string() }));

const anyKey = '';

/** All indexes of the table. */
const anyIndex = '*';

const policiesIn = (role: Resource | undefined): unknown[] =>
  [role?.Properties.Policies ?? []].flat();

/** The name of a policy in a role or beside one. */
const nameOf = (policy: unknown): string => v.parse(policySchema, policy).PolicyName;

const documentOf = (policy: unknown): unknown => v.parse(policySchema, policy).PolicyDocument;

/** All rights that such a policy gives. */
const rightsIn = (policy: unknown): Right[] =>
  v
    .parse(policySchema, policy)
    .PolicyDocument.Statement.flatMap(({ Action, Resource, Condition }) => {
      const { 'ForAllValues:StringLike': onKeys = {}, ...others } = Condition;
      const keys = [onKeys['dynamodb:LeadingKeys'] ?? anyKey].flat().map(String);
      return [Action]
        .flat()
        .flatMap((action) =>
          [Resource].flat().map((on) => ({ about: JSON.stringify([action, on, others]), keys })),
        );
    });

/** What a role holds by one policy. */
interface Held {
  rights: Right[];
  /** As IAM counts it. */
  size: number;
}

/**
 * What a template gives to a function: rights, the environment, and the resources that both name.
 */
interface Given {
  rights: Right[];
  /** The names of the indexes that the rights are about. */
  indexes: string[];
  environment: string;
  resources: string[];
}

/**
 * Code that can be called: `$LATEST` of a function, or a version, with the role and the environment
 * that it has in fact.
 */
interface Code {
  given: Given;
  role: string;
  environment: string;
}

/** A template, and what it gives to each function. */
export class Template {
  readonly resources: Resources;
  readonly orders: Record<Order, Iterable<string>>;
  readonly given: ReadonlyMap<string, Given>;

  constructor(resources: Resources) {
    this.resources = resources;
    const ids = Object.keys(resources);
    const functions = ofType(resources, 'AWS::Lambda::Function');
    const late = new Set(ofType(resources, 'AWS::Lambda::Alias').map(([id]) => id));
    const first = withAllTheyNeed(resources, [...late, ...functions.map(([id]) => id), ...ids]);
    for (const id of first) if (idsIn(resources[id]).some((other) => late.has(other))) late.add(id);
    const last = withAllTheyNeed(resources, [...ids.filter((id) => !late.has(id)), ...ids]);
    this.orders = { 'aliases first': first, 'aliases last': last };
    this.given = new Map(functions.map(([id, lambda]) => [id, this.#givenTo(lambda)]));
  }

  /** Rights in a role count only when it has none beside it. */
  #givenTo({ Properties: { Role, Environment } }: Resource): Given {
    const policies = ofType(this.resources, 'AWS::IAM::Policy').map(
      ([, { Properties }]) => Properties,
    );
    const beside = policies.filter(({ Roles }) => idIn(Roles) === idIn(Role));
    const within = policiesIn(this.resources[idIn(Role)]);
    const rights = (beside.length > 0 ? beside : within).flatMap(rightsIn);
    const indexes = rights.flatMap(({ about }) => /(?<="\/index\/)[\w*]+/.exec(about) ?? []);
    const named = idsIn([Role, Environment, rights.map(({ about }) => JSON.parse(about))]);
    const resources = named.filter((id) => id in this.resources);
    return {
      rights,
      indexes: indexes.includes(anyIndex) ? this.#globalIndexes() : indexes,
      environment: JSON.stringify(Environment),
      resources,
    };
  }

  #globalIndexes(): string[] {
    const tables = ofType(this.resources, 'AWS::DynamoDB::Table');
    return tables.flatMap(([, { Properties }]) =>
      v.parse(indexesSchema, Properties.GlobalSecondaryIndexes).map(({ IndexName }) => IndexName),
    );
  }
}

/** What there is at each step of an update, and what is wrong with it. */
class Stack {
  readonly problems = new Set<string>();
  /** Functions that are called by an alias, when one moves, or by a custom resource. */
  readonly #calledByResources: Set<string>;
  readonly #resources = new Map<string, Resource>();
  /** What each role holds, by the names of its policies. */
  readonly #held = new Map<string, ReadonlyMap<string, Held>>();
  /** Rights that were found to be missing, for the policies of a role as they were. */
  readonly #missing = new Map<ReadonlyMap<string, Held> | undefined, Map<Given, string[]>>();
  #indexes = '';
  readonly #latest = new Map<string, Code>();
  readonly #versions = new Map<string, Code>();
  /** The versions that each alias leads to. */
  readonly #live = new Map<string, string[]>();

  constructor(...templates: Template[]) {
    const callers = templates
      .flatMap(({ resources }) => Object.values(resources))
      .map(({ Type, Properties, UpdatePolicy }) => [
        Type === 'AWS::Lambda::Alias' && Properties.FunctionName,
        Properties.ServiceToken,
        UpdatePolicy,
      ]);
    this.#calledByResources = new Set(idsIn(callers));
  }

  /**
   * Creates or updates a resource.
   * @param fails whether the deployment of an alias is rolled back
   */
  apply(id: string, { resources, given }: Template, fails = false): void {
    const old = this.#resources.get(id);
    const resource = resources[id];
    if (!resource) return;
    const { Type, Properties } = resource;
    const isChanged = (name: string): boolean =>
      !isDeepStrictEqual(old?.Properties[name], Properties[name]);
    if (old && fixedProperties[Type]?.some(isChanged)) this.problems.add(`${id} is replaced.`);
    this.#resources.set(id, resource);
    const environment = JSON.stringify(Properties.Environment);
    const lambda = Type === 'AWS::Lambda::Function' ? id : idIn(Properties.FunctionName);
    const byTemplate = given.get(lambda);
    const published = this.#versions.get(id) ?? this.#latest.get(lambda);
    if (Type === 'AWS::IAM::Role' && isChanged('Policies')) {
      for (const policy of policiesIn(old)) this.#take(id, policy);
      for (const policy of policiesIn(resource)) this.#put(id, policy, resources);
    }
    if (Type === 'AWS::IAM::Policy' && ['PolicyName', 'PolicyDocument'].some(isChanged))
      this.#put(idIn(Properties.Roles), Properties, resources);
    if (Type === 'AWS::Lambda::Function' && byTemplate)
      this.#latest.set(id, { given: byTemplate, role: idIn(Properties.Role), environment });
    if (Type === 'AWS::Lambda::Version' && byTemplate && published)
      this.#versions.set(id, { ...published, given: byTemplate });
    if (Type === 'AWS::Lambda::Alias') this.#move(id, resource, fails);
    if (Type === 'AWS::DynamoDB::Table') this.#indexes = JSON.stringify(Properties);
    if (Type.startsWith('Custom::')) this.#judge(id, idsIn(Properties));
    if (Type in effectiveProperties) this.#judge(id);
  }

  #put(role: string, policy: unknown, resources: Resources): void {
    const size = sizeOf(documentOf(policy), resources);
    const held = new Map(this.#held.get(role)).set(nameOf(policy), {
      rights: rightsIn(policy),
      size,
    });
    this.#held.set(role, held);
    const sum = [...held.values()].reduce((total, one) => total + one.size, 0);
    if (sum > mostInRole) this.problems.add(`${role} holds ${sum} characters.`);
  }

  #take(role: string, policy: unknown): void {
    const others = [...(this.#held.get(role) ?? [])].filter(([name]) => name !== nameOf(policy));
    this.#held.set(role, new Map(others));
  }

  /** Leads an alias to both versions, and then to the new one, or back. */
  #move(id: string, { Properties, UpdatePolicy }: Resource, fails: boolean): void {
    const old = this.#live.get(id) ?? [];
    const version = idIn(Properties.FunctionVersion);
    this.#live.set(id, [...old, version]);
    this.#judge(id, idsIn(UpdatePolicy));
    this.#live.set(id, fails ? old : [version]);
  }

  /** Deletes a resource in the clean-up. */
  delete(id: string): void {
    const old = this.#resources.get(id);
    if (!old || old.DeletionPolicy?.startsWith('Retain')) return;
    if (old.Type === 'AWS::IAM::Policy') this.#take(idIn(old.Properties.Roles), old.Properties);
    for (const kind of [this.#resources, this.#held, this.#latest, this.#versions, this.#live])
      kind.delete(id);
    this.#judge(id);
  }

  /** @param called functions and versions that are called in this step */
  #judge(step: string, called: string[] = []): void {
    const latest = [...this.#latest].filter(
      ([id]) => called.includes(id) || !this.#calledByResources.has(id),
    );
    const tried = called.filter((id) => this.#versions.has(id));
    const live = [...[...this.#live.values()].flat(), ...tried].map(
      (id) => [id, this.#versions.get(id)] as const,
    );
    for (const [id, code] of [...latest, ...live])
      for (const lack of code ? this.#lacks(code) : ['itself'])
        this.problems.add(`${step}: ${id} lacks ${lack}`);
  }

  #lacks({ given, role, environment }: Code): string[] {
    return [
      ...this.#missingRights(given, this.#held.get(role)),
      ...given.resources.filter((id) => !this.#resources.has(id)),
      ...given.indexes.filter((name) => !this.#indexes.includes(`"IndexName":"${name}"`)),
      ...(environment === given.environment ? [] : ['its environment']),
    ];
  }

  #missingRights(given: Given, policies: ReadonlyMap<string, Held> | undefined): string[] {
    const known = this.#missing.get(policies) ?? new Map<Given, string[]>();
    this.#missing.set(policies, known);
    const granted = [...(policies?.values() ?? [])].flatMap(({ rights }) => rights);
    const isGranted = ({ about, keys }: Right): boolean =>
      granted.some(
        (one) =>
          [about, about.replace(/(?<=\/index\/)\w+/, anyIndex)].includes(one.about) &&
          keys.every((key) => one.keys.includes(key)),
      );
    const missing =
      known.get(given) ??
      given.rights.filter((right) => !isGranted(right)).map(({ about }) => about);
    known.set(given, missing);
    return missing;
  }
}

/** What any code that may be called lacks at any step of an update, or of its rollback. */
export function problemsOf({ before, after, order, failing, back = order }: Update): string[] {
  const stack = new Stack(before, after);
  for (const id of before.orders[order]) stack.apply(id, before);
  stack.problems.clear();
  for (const id of after.orders[order]) {
    stack.apply(id, after, id === failing);
    if (id === failing) break;
  }
  if (failing) for (const id of before.orders[back]) stack.apply(id, before);
  const [end, start] = failing ? [before, after] : [after, before];
  for (const id of [...start.orders[order]].reverse()) if (!(id in end.resources)) stack.delete(id);
  return [...stack.problems];
}
