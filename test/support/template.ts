import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { readFunctions } from '../../infra/endpoints.ts';
import { readSettings } from '../../infra/settings/settings.ts';
import { deployService } from '../../infra/stack/deployment.ts';
import { logicalIdOf } from '../../infra/stack/service-function.ts';
import type { Access } from '../../lib/http/endpoint.ts';

export const root = join(import.meta.dirname, '../..');
export const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));

/** The feature flags of `cdk.json`. */
export const { context } = v.parse(
  v.object({ context: v.record(v.string(), v.unknown()) }),
  readJson('cdk.json'),
);

const recorded = readFunctions();
export const { endpoints } = recorded;

/** Settings of a deployment with CloudFront and AWS WAF in front. */
export const withEdge = {
  account: '123456789012',
  region: 'eu-central-1',
  domainName: 'login.example.com',
  certificateArn: 'arn:aws:acm:eu-central-1:123456789012:certificate/1234-abcd',
  edge: true,
  edgeCertificateArn: 'arn:aws:acm:us-east-1:123456789012:certificate/1234-abcd',
};

/** Settings of a deployment whose data and logs keys of its own encrypt. */
export const withKey = {
  kmsKeyArn: 'arn:aws:kms:eu-central-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef',
  edgeKmsKeyArn: 'arn:aws:kms:us-east-1:123456789012:key/12345678-90ab-cdef-1234-567890abcdef',
};

/** Settings of a deployment with everything that can be switched on. */
export const everything = {
  ...withEdge,
  ...withKey,
  edgeLogs: true,
  edgeAllowedAddresses: '192.0.2.0/24',
  edgeTokenRateLimit: 100,
  archiveDays: 30,
  maxWriteUnits: 1000,
  alarmEmail: 'ops@example.com',
  tracing: true,
  loginHook: 'login-hook:live',
  tokenConcurrency: 1,
  tokenReservedConcurrency: 10,
};

/** Settings of deployments that differ in what is in their templates. */
export const variants: Record<string, unknown>[] = [
  {},
  { stage: 'development', loopbackProviders: true, accessTokenSeconds: 60 },
  { canary: false, tableName: 'a-stack-restored', publishEvents: false },
  {
    account: '123456789012',
    region: 'eu-central-1',
    tableName: 'a-stack-restored',
    tableStreamArn:
      'arn:aws:dynamodb:eu-central-1:123456789012:table/a-stack-restored/stream/2026-01-31T08:00:00.000',
  },
  {
    domainName: 'login.example.com',
    certificateArn: 'arn:aws:acm:eu-central-1:123456789012:certificate/1234-abcd',
    alarmEmail: 'ops@example.com',
    tokenConcurrency: 1,
    tokenReservedConcurrency: 10,
    warmReadUnits: 20_000,
    replicaRegions: 'eu-west-1',
    tracing: true,
  },
  withEdge,
  everything,
];

/**
 * The stack of a deployment with these settings. Its functions are not bundled, which takes seconds; `npm run synth` does it.
 * @param options `builtinCloudFormationValidation` takes a second per synthesis; `moreContext` is that of the CDK itself
 */
export function stackWith(
  settings: Record<string, unknown> = {},
  { builtinCloudFormationValidation = false, moreContext = {} } = {},
) {
  const bundlingContext = { ...context, ...moreContext, 'aws:cdk:bundling-stacks': [] };
  const app = new App({ context: bundlingContext, stackTraces: false, builtinCloudFormationValidation });
  return { app, ...deployService(app, readSettings({ stack: 'a-stack', ...settings })) };
}

const templates = new Map<string, Template>();

/**
 * Synthesizes the template of a deployment. This takes a second; so it is kept in the folder that `TEMPLATES_DIR` names, for
 * all files of a test run.
 */
export const templateWith = (settings: Record<string, unknown> = {}): Template =>
  keptTemplate('service', settings);

/** Synthesizes the template of the stack within it, with the alarms, the dashboard and the deployment groups. */
export const watchingWith = (settings: Record<string, unknown> = {}): Template =>
  keptTemplate('watching', settings);

function keptTemplate(part: 'service' | 'watching', settings: Record<string, unknown>): Template {
  const { TEMPLATES_DIR } = process.env;
  if (!TEMPLATES_DIR) throw new Error('TEMPLATES_DIR is not set; jest sets it before the tests.');
  const folder = join(TEMPLATES_DIR, createHash('sha256').update(JSON.stringify(settings)).digest('hex'));
  if (!existsSync(folder)) {
    // Written whole: another process may look for it meanwhile.
    const whole = mkdtempSync(`${folder}-`);
    const { stack, service } = stackWith(settings);
    for (const [name, one] of Object.entries({ service: stack, watching: service.watching }))
      writeFileSync(join(whole, name), JSON.stringify(Template.fromStack(one).toJSON()));
    if (!existsSync(folder)) renameSync(whole, folder);
  }
  const file = join(folder, part);
  const template = templates.get(file) ?? Template.fromString(readFileSync(file, 'utf8'));
  templates.set(file, template);
  return template;
}

/** The template of a deployment that sets nothing, and that of the stack within it. */
export const template = templateWith();
export const watching = watchingWith();

/** The properties of all resources of a type, with their logical ids. */
export const resources = <Schema extends v.GenericSchema>(type: string, schema: Schema, of = template) =>
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
    FunctionName: v.optional(v.string()),
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
    Policies: v.optional(v.array(v.object({ PolicyDocument: v.object({ Statement: statements }) })), []),
  }),
);

const getAtt = v.object({ 'Fn::GetAtt': v.tuple([v.string(), v.string()]) });
const joined = v.object({ 'Fn::Join': v.tuple([v.literal(''), v.array(v.unknown())]) });

/** What an intrinsic function of the template is about: a logical id, and what is written around it. */
export function text(value: unknown): string {
  if (v.is(ref, value)) return value.Ref;
  if (v.is(getAtt, value)) return value['Fn::GetAtt'][0];
  if (v.is(joined, value)) return value['Fn::Join'][1].map(text).join('');
  return v.parse(v.string(), value);
}

/** The same without the hashes that CDK puts at the ends of logical ids, and without its names for parameters. */
export const readable = (value: unknown): string =>
  text(value)
    .replace(/^referencetoastack(\w+[0-9A-F]{8})(?:Ref|Arn|QueueName|Version)(?=$|:)/, '$1')
    .replace(/[0-9A-F]{8}(?=$|[/:])/, '');

const listed = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value]);

/** One action that a role may do on one resource; with leading keys, only on items whose partition key matches one. */
interface Right {
  action: string;
  on: string;
  keys: string[] | undefined;
}

/** Those of the policy beside a role. The one role without has them in itself. */
function statementsOf(role: unknown) {
  const beside = policies.filter(({ properties }) => properties.Roles[0].Ref === text(role));
  const within = roles.filter(({ id }) => id === text(role)).flatMap(({ properties }) => properties.Policies);
  const documents = beside.length > 0 ? beside.map(({ properties }) => properties) : within;
  return documents.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
}

const rightsIn = (role: unknown): Right[] =>
  statementsOf(role).flatMap(({ Action, Resource, Condition }) => {
    const keys = Condition?.['ForAllValues:StringLike']['dynamodb:LeadingKeys'];
    return listed(Action).flatMap((action) =>
      listed(Resource).map((on) => ({
        action: text(action),
        on: readable(on),
        keys: keys === undefined ? undefined : listed(keys).map(text),
      })),
    );
  });

/** All that a role may do, one line per action and resource: `dynamodb:Query Table/index/by_actor if DEVICE#*`. */
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
 * @see IAM user guide, "IAM JSON policy elements: Condition operators", section "String condition operators"
 */
export const isLike = (value: string, form: string): boolean => {
  const pattern = form.replace(/\W/g, (sign) => ({ '*': '.*', '?': '.' })[sign] ?? `\\${sign}`);
  return new RegExp(`^${pattern}$`, 's').test(value);
};

export const named = (key: string) => {
  const found = functions.find(({ id }) => id === logicalIdOf(key));
  if (!found) throw new Error(`The template has no function for ${key}.`);
  return found.properties;
};

export const accesses: [string, Access][] = [...endpoints, ...recorded.others];
