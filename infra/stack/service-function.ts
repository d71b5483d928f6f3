import { join } from 'node:path';
import { ArnFormat, type CfnResource, Duration, RemovalPolicy, Stack, Token } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Architecture, CfnFunction, Code, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, type NodejsFunctionProps } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import type {
  AnyEndpoint,
  FunctionRecord,
  SecretName,
  TableAction,
} from '../../lib/http/endpoint.ts';
import { pascal } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import { indexNames, type TableRight, tableRightsOf } from '../table-rights.ts';
import { isInstalled, projectFolder } from '../version.ts';
import { bundlesFolder } from './bundles.ts';
import { bundling } from './bundling.ts';
import { formerRightsOf, isFormer } from './former-rights.ts';
import { allowNetwork, type Network } from './network.ts';
import type { TableInUse } from './resources-in-use.ts';
import { acknowledge, allow, allowKey, FunctionRole, InlineRole, type KeyUser } from './rights.ts';
import { namedLogGroup, type ServiceSecrets } from './service-data.ts';

/** A deployment, as all its functions see it. */
export interface Deployment {
  settings: Settings;
  /** The deployment's own key, which encrypts data and logs. */
  key: IKey | undefined;
  table: TableInUse;
  secrets: ServiceSecrets;
  /** In addition to those of the table and the secrets. */
  environment: Record<string, string>;
  /** The VPC of the functions that call out. */
  network: Network | undefined;
}

/** The alias by which the API calls a function. */
export const liveAlias = 'live';

/** A function that serves an endpoint. */
export type EndpointFunction = ServiceFunction<AnyEndpoint>;

/** Properties that single functions have. */
interface SpecialProps
  extends Pick<NodejsFunctionProps, 'functionName' | 'reservedConcurrentExecutions'> {
  /**
   * Whether its role holds its rights: those of two versions are too long, and nothing calls it
   * while it is updated.
   */
  inlineRights?: true;
  /**
   * Provisioned concurrency: instances of the live version that are kept warm.
   * @default 0
   */
  warm?: number;
}

const secretVariables: Record<SecretName, string> = {
  'signing-keys': 'SIGNING_KEYS_SECRET_ID',
  'refresh-tokens': 'REFRESH_TOKENS_SECRET_ID',
  'provider-settings': 'PROVIDER_SETTINGS_SECRET_ID',
};

/**
 * A Lambda function: the file in `functions/` that its key names, its log, and its role, which may
 * do with the table and the secrets only what `access` says. Its logical id is its key in Pascal
 * case.
 */
export class ServiceFunction<
  Kind extends AnyEndpoint | FunctionRecord = AnyEndpoint | FunctionRecord,
> extends Construct {
  readonly key: string;
  readonly access: Kind;
  readonly lambda: NodejsFunction;
  readonly log: LogGroup;

  constructor(
    scope: Construct,
    key: string,
    access: Kind,
    shared: Deployment,
    special: SpecialProps = {},
  ) {
    super(scope, key);
    const { settings, table, secrets } = shared;
    const { warm = 0, inlineRights = false, ...props } = special;
    const { secrets: readable = [], seconds = 10 } = access;
    const { summary } = 'document' in access ? access.document : access;
    const hook = access.asksLoginHook ? loginHookArn(this, settings) : undefined;
    const network = access.callsProviders || hook ? shared.network : undefined;
    const hookSeconds = hook ? settings.loginHookSeconds : 0;
    this.key = key;
    this.access = access;
    this.log = namedLogGroup(this, 'Log', logGroupNameOf(this, key), settings, shared.key);
    // The CDK's default role may write to every log group of the account.
    const role = inlineRights
      ? new InlineRole(this, 'Role', 'lambda.amazonaws.com')
      : new FunctionRole(this, 'Role', isFormer(key));
    this.log.grantWrite(role);

    const secretIds = Object.fromEntries(
      readable.map((name) => [secretVariables[name], secrets[name].secretArn]),
    );
    const hookVariables = hook ? loginHookVariables(this, hook, settings) : {};
    this.lambda = new NodejsFunction(this, 'Function', {
      description: summary,
      ...codeOf(key),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      // CPU grows with memory (1,769 MB is one vCPU): 1,024 MB shortens the cold start; the data
      // needs less.
      memorySize: 1024,
      timeout: Duration.seconds(seconds + hookSeconds),
      role,
      logGroup: this.log,
      tracing: settings.tracing ? Tracing.ACTIVE : Tracing.DISABLED,
      ...props,
      ...definedOnly({ ...network }),
      environment: {
        TABLE_NAME: table.tableName,
        ...secretIds,
        ...shared.environment,
        ...hookVariables,
        // Lambda publishes a version with another number only if the function has changed.
        ...(warm > 0 && { PROVISIONED_CONCURRENCY: String(warm) }),
      },
      currentVersionOptions: warm > 0 ? warmVersion(warm) : coldVersion,
    });
    resourceOf(this.lambda, CfnFunction).overrideLogicalId(pascal(key));

    if (settings.tracing)
      acknowledge(this, 'IAM5[Resource::*]', 'X-Ray has no resources to limit a role to');
    const anyIndex = asFound(Stack.of(this).resolve(indexArn(table, '*')));
    acknowledge(this, `IAM5[Resource::${anyIndex}]`, 'The keys limit a query of any index');
    if (network) allowNetwork(this, role);
    const tableRights = tableRightsOf(access);
    for (const right of tableRights) role.addNew(statementOf(right, table));
    if (role instanceof FunctionRole)
      for (const right of formerRightsOf(key, access)) role.keepFormer(statementOf(right, table));
    if (hook)
      role.addNew(new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [hook] }));
    for (const name of readable)
      allow(role, ['secretsmanager:GetSecretValue'], [secrets[name].secretArn]);
    const onlyReads = tableRights.every(({ action }) => readActions.includes(action));
    const users: [IKey | undefined, KeyUser][] = readable.map((name) => [
      secrets[name].encryptionKey,
      'secretsmanager',
    ]);
    if (tableRights.length > 0) users.unshift([table.encryptionKey, 'dynamodb']);
    // One statement for all that have the same key: IAM limits the characters of a role's policies.
    for (const [key, group] of Map.groupBy(users, ([key]) => key)) {
      const services = group.map(([, service]) => service);
      allowKey(role, key, onlyReads ? 'read' : 'write', ...services);
    }
  }
}

/** The bundle of the installed package, or the file of the clone, which the CDK bundles. */
function codeOf(key: string): Pick<NodejsFunctionProps, 'code' | 'handler' | 'entry' | 'bundling'> {
  if (!isInstalled) return { entry: join(projectFolder, 'functions', `${key}.ts`), bundling };
  const code = Code.fromAsset(join(projectFolder, bundlesFolder, key));
  return { code, handler: 'index.handler' };
}

/** Earlier versions stay for `release back`, but none of a deployment that was rolled back. */
const coldVersion = { removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE };

/**
 * The options of a version with warm instances. The version has them, since an alias that shifts
 * weights can't. It is deleted after the next one: it would stay warm and cost as much.
 * @see AWS Lambda developer guide, "Implement Lambda canary deployments using a weighted alias"
 */
const warmVersion = (instances: number) => ({
  provisionedConcurrentExecutions: instances,
  removalPolicy: RemovalPolicy.DESTROY,
});

/** The ARN of the login hook, which the settings may name without account and region. */
function loginHookArn(scope: Construct, { loginHook }: Settings): string | undefined {
  const isArn = loginHook?.startsWith('arn:') || Token.isUnresolved(loginHook);
  if (loginHook === undefined || isArn) return loginHook;
  return arnOf(scope, 'lambda', 'function', loginHook);
}

function loginHookVariables(scope: Construct, hook: string, settings: Settings) {
  const { region, urlSuffix } = Stack.of(scope);
  return {
    LOGIN_HOOK: hook,
    AWS_ENDPOINT_URL_LAMBDA: `https://lambda.${region}.${urlSuffix}`,
    LOGIN_HOOK_ON: settings.loginHookOn,
    LOGIN_HOOK_SECONDS: String(settings.loginHookSeconds),
  };
}

const indexArn = ({ tableArn }: TableInUse, name: string): string => `${tableArn}/index/${name}`;

/** An ARN of a template as cdk-nag writes it: `<Table.Arn>/index/*`. */
function asFound(part: unknown): string {
  if (typeof part !== 'object' || part === null) return String(part);
  const [[name, value] = ['', '']] = Object.entries(part);
  if (name === 'Fn::Join') return value[1].map(asFound).join('');
  return `<${[value].flat().join('.')}>`;
}

const readActions: TableAction[] = ['GetItem', 'BatchGetItem', 'Query'];

/** Lets a function do one action on the items whose partition keys have these forms. */
function statementOf({ action, keys, indexes }: TableRight, table: TableInUse): PolicyStatement {
  // IAM limits the characters of a role's policies.
  const named = indexes.length === indexNames.length ? ['*'] : indexes;
  return new PolicyStatement({
    actions: [`dynamodb:${action}`],
    resources: [table.tableArn, ...named.map((name) => indexArn(table, name))],
    conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys } },
  });
}

/**
 * The ARN of a resource in the account and region of the stack:
 * `arn:aws:logs:eu-west-1:123456789012:log-group:NAME`.
 */
export const arnOf = (
  scope: Construct,
  service: string,
  resource: string,
  resourceName: string,
): string =>
  Stack.of(scope).formatArn({
    service,
    resource,
    resourceName,
    arnFormat: ArnFormat.COLON_RESOURCE_NAME,
  });

/**
 * The template's resource of a construct, for what the construct doesn't offer.
 * @throws Error when it has another type
 */
export function resourceOf<Resource extends CfnResource>(
  construct: Construct,
  type: abstract new (...parameters: never[]) => Resource,
): Resource {
  const { defaultChild } = construct.node;
  if (defaultChild instanceof type) return defaultChild;
  throw new Error(`${construct.node.path} is no ${type.name}.`);
}

/** The name of a function's log group; `*` stands for those of all functions of the stack. */
export const logGroupNameOf = (scope: Construct, key: string): string =>
  `/${Stack.of(scope).stackName}/${key}`;
