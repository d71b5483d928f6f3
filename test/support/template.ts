import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { pascal } from '../../infra/endpoints.ts';
import { withEdge } from './deployments.ts';
import type { StackParts, Stacks, Synthesized } from './synthesize.ts';

export const root = join(import.meta.dirname, '../..');

const known = new Map<string, Promise<Stacks<Template>>>();

/**
 * The stacks of a deployment, synthesized once a run.
 * @param moreContext of the CDK
 * @throws Error that names a wrong setting
 */
export function stacksWith(
  settings: Record<string, unknown> = {},
  moreContext = {},
): Promise<Stacks<Template>> {
  const key = JSON.stringify({ settings, moreContext });
  const stacks = known.get(key) ?? synthesized(key);
  known.set(key, stacks);
  return stacks;
}

async function synthesized(body: string): Promise<Stacks<Template>> {
  const { SYNTHESIS_URL } = process.env;
  if (!SYNTHESIS_URL) throw new Error('SYNTHESIS_URL is not set; jest sets it before the tests.');
  const response = await fetch(SYNTHESIS_URL, { method: 'POST', body });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  const { service, watching, edge }: Synthesized = JSON.parse(text);
  const read = (parts: Synthesized['service']) => ({
    ...parts,
    template: Template.fromJSON(parts.template),
  });
  return {
    service: read(service),
    watching: Template.fromJSON(watching),
    edge: edge && read(edge),
  };
}

export const templateWith = async (settings?: Record<string, unknown>): Promise<Template> =>
  (await stacksWith(settings)).service.template;

/**
 * The template of the stack within it, with the alarms, the dashboard and the deployment groups.
 */
export const watchingWith = async (settings?: Record<string, unknown>): Promise<Template> =>
  (await stacksWith(settings)).watching;

/**
 * The stack of the edge, of a deployment that has one.
 * @param more settings beside those that an edge demands
 */
export async function edgeWith(more: Record<string, unknown> = {}): Promise<StackParts<Template>> {
  const { edge } = await stacksWith({ ...withEdge, ...more });
  if (!edge) throw new Error('There is no edge.');
  return edge;
}

/** The template of a deployment that sets nothing, and that of the stack within it. */
export const template = await templateWith();
export const watching = await watchingWith();

/** The properties of all resources of a type, with their logical ids. */
export const resources = <Schema extends v.GenericSchema>(
  type: string,
  schema: Schema,
  of = template,
) =>
  Object.entries(of.findResources(type)).map(([id, resource]) => {
    const properties: unknown = resource.Properties;
    return { id, properties: v.parse(schema, properties) };
  });

export const functions = resources(
  'AWS::Lambda::Function',
  v.object({
    Runtime: v.string(),
    Architectures: v.array(v.string()),
    Handler: v.string(),
    Timeout: v.number(),
    MemorySize: v.number(),
    Role: v.unknown(),
    LoggingConfig: v.object({ LogGroup: v.unknown() }),
    Environment: v.object({ Variables: v.record(v.string(), v.unknown()) }),
  }),
);

const statements = v.array(
  v.object({
    Effect: v.literal('Allow'),
    Action: v.union([v.string(), v.array(v.string())]),
    Resource: v.unknown(),
    Condition: v.optional(
      v.object({ 'ForAllValues:StringLike': v.object({ 'dynamodb:LeadingKeys': v.unknown() }) }),
    ),
  }),
);

const ref = v.object({ Ref: v.string() });

/** The policies that have the rights of functions, each of one role. */
export const policies = resources(
  'AWS::IAM::Policy',
  v.strictObject({
    PolicyName: v.string(),
    PolicyDocument: v.object({ Statement: statements }),
    Roles: v.tuple([ref]),
  }),
);

export const roles = resources(
  'AWS::IAM::Role',
  v.looseObject({
    Policies: v.optional(
      v.array(v.object({ PolicyDocument: v.object({ Statement: statements }) })),
      [],
    ),
  }),
);

const getAtt = v.object({ 'Fn::GetAtt': v.tuple([v.string(), v.string()]) });
const joined = v.object({ 'Fn::Join': v.tuple([v.literal(''), v.array(v.unknown())]) });

/**
 * What an intrinsic function of the template is about: a logical id, and what is written around it.
 */
export function text(value: unknown): string {
  if (v.is(ref, value)) return value.Ref;
  if (v.is(getAtt, value)) return value['Fn::GetAtt'][0];
  if (v.is(joined, value)) return value['Fn::Join'][1].map(text).join('');
  return v.parse(v.string(), value);
}

/**
 * The same without the hashes that CDK puts at the ends of logical ids, and without its names for
 * parameters.
 */
export const readable = (value: unknown): string =>
  text(value)
    .replace(/^referencetoastack(\w+[0-9A-F]{8})(?:Ref|Arn|QueueName|Version)(?=$|:)/, '$1')
    .replace(/[0-9A-F]{8}(?=$|[/:])/, '');

/** Those of the policy beside a role. The one role without has them in itself. */
function statementsOf(role: unknown) {
  const beside = policies.filter(({ properties }) => properties.Roles[0].Ref === text(role));
  const within = roles
    .filter(({ id }) => id === text(role))
    .flatMap(({ properties }) => properties.Policies);
  const documents = beside.length > 0 ? beside.map(({ properties }) => properties) : within;
  return documents.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
}

/**
 * Each action that a role may do on a resource; with keys, only on items whose partition key
 * matches one.
 */
const rightsIn = (role: unknown) =>
  statementsOf(role).flatMap(({ Action, Resource, Condition }) => {
    const keys = Condition?.['ForAllValues:StringLike']['dynamodb:LeadingKeys'];
    return [Action].flat().flatMap((action) =>
      [Resource].flat().map((on) => ({
        action: text(action),
        on: readable(on),
        keys: keys === undefined ? undefined : [keys].flat().map(text),
      })),
    );
  });

/**
 * All that a role may do, one line per action and resource: `dynamodb:Query Table/index/by_actor if
 * DEVICE#*`.
 */
export const rightsOf = (role: unknown): string[] =>
  rightsIn(role)
    .map(({ action, on, keys }) => `${action} ${on}${keys ? ` if ${keys}` : ''}`)
    .sort();

/** Whether a role may do an action, such as `dynamodb:PutItem`, on items of a partition key. */
export const mayOn = (role: unknown, wanted: string, partitionKey: string): boolean =>
  rightsIn(role).some(
    ({ action, keys }) =>
      isLike(wanted, action) && (!keys || keys.some((form) => isLike(partitionKey, form))),
  );

/**
 * Whether IAM's `StringLike` matches: `*` stands for any text, `?` for one character.
 * @see IAM user guide, "IAM JSON policy elements: Condition operators", section "String condition
 *   operators"
 */
export const isLike = (value: string, form: string): boolean => {
  const pattern = form.replace(/\W/g, (sign) => ({ '*': '.*', '?': '.' })[sign] ?? `\\${sign}`);
  return new RegExp(`^${pattern}$`, 's').test(value);
};

export const named = (key: string) => {
  const found = functions.find(({ id }) => id === pascal(key));
  if (!found) throw new Error(`The template has no function for ${key}.`);
  return found.properties;
};
