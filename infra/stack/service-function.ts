import { join } from 'node:path';
import { ArnFormat, type CfnResource, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Architecture, CfnFunction, Code, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, type NodejsFunctionProps } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Access, AnyEndpoint, SecretName, TableRights } from '../../lib/http/endpoint.ts';
import { logicalIdOf } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import { type TableRight, tableRightsOf } from '../table-rights.ts';
import { isInstalled } from '../version.ts';
import { bundling } from './bundling.ts';
import { acknowledge, allow, allowKey, FunctionRole, InlineRole } from './rights.ts';
import { indexArnsOf, namedLogGroup, type ServiceSecrets, type TableInUse } from './service-data.ts';

/** A deployment, as all its functions see it. */
export interface Deployment {
  settings: Settings;
  /** The deployment's own key, which encrypts data and logs. */
  key: IKey | undefined;
  table: TableInUse;
  secrets: ServiceSecrets;
  /** In addition to those of the table and the secrets. */
  environment: Record<string, string>;
}

/** A function that serves an endpoint. */
export type EndpointFunction = ServiceFunction<AnyEndpoint>;

/** Properties that single functions have. */
interface SpecialProps extends Pick<NodejsFunctionProps, 'functionName' | 'reservedConcurrentExecutions'> {
  environment?: Record<string, string>;
  /** Whether its role holds its rights itself: those of two versions are too long, and nothing calls it while it is updated. */
  inlineRights?: true;
  /** Provisioned concurrency: instances of the live version that are kept warm. @default 0 */
  warm?: number;
}

const root = join(import.meta.dirname, '../..');

/** The folder of the installed package with a folder for each function's bundle. */
export const bundlesFolder = 'bundles';

/** The code of a function: its file, to be bundled, or in the installed package its bundle. */
const codeOf = (key: string): Pick<NodejsFunctionProps, 'code' | 'handler' | 'entry' | 'bundling'> =>
  isInstalled
    ? { code: Code.fromAsset(join(root, bundlesFolder, key)), handler: 'index.handler' }
    : { entry: join(root, 'functions', `${key}.ts`), bundling };

const secretVariables: Record<SecretName, string> = {
  'signing-keys': 'SIGNING_KEYS_SECRET_ID',
  'refresh-tokens': 'REFRESH_TOKENS_SECRET_ID',
  'provider-settings': 'PROVIDER_SETTINGS_SECRET_ID',
};

/** Rights on the table that functions of 1.0.0 had and those of today don't need. Their roles keep them with the others of 1.0.0. */
const formerRights: Record<string, TableRights> = {
  'create-access-request': { access_requests: ['Query'] },
  'link-identity': { issuer_keys: ['PutItem'], login_users: ['PutItem', 'DeleteItem'] },
  'receive-notification': { issuer_keys: ['PutItem'], login_users: ['PutItem'] },
};

/**
 * One Lambda: the file in `functions/` that its id names, its log, and its own role, which may do with the table and
 * the secrets only what `access` says. Its logical id is its key in Pascal case.
 */
export class ServiceFunction<Kind extends Access = Access> extends Construct {
  readonly key: string;
  readonly access: Kind;
  readonly lambda: NodejsFunction;
  readonly log: LogGroup;

  constructor(scope: Construct, key: string, access: Kind, shared: Deployment, special: SpecialProps = {}) {
    super(scope, key);
    const { settings, table, secrets } = shared;
    const { environment, warm = 0, inlineRights = false, ...props } = special;
    const { secrets: readable = [], summary, seconds = 10 } = access;
    const hook = access.asksLoginHook ? loginHookArn(this, settings) : undefined;
    this.key = key;
    this.access = access;
    this.log = namedLogGroup(this, 'Log', logGroupNameOf(this, key), settings, shared.key);
    // The CDK's default role may write to every log group of the account.
    const role = inlineRights
      ? new InlineRole(this, 'Role', 'lambda.amazonaws.com')
      : new FunctionRole(this, 'Role');
    this.log.grantWrite(role);

    this.lambda = new NodejsFunction(this, 'Function', {
      description: summary,
      ...codeOf(key),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      // CPU grows with memory (1,769 MB is one vCPU): 1,024 MB shortens the cold start; the data needs less.
      memorySize: 1024,
      timeout: Duration.seconds(seconds + (hook ? settings.loginHookSeconds : 0)),
      role,
      logGroup: this.log,
      // Lambda itself samples invocations for X-Ray, so the bundle is the same.
      tracing: settings.tracing ? Tracing.ACTIVE : Tracing.DISABLED,
      ...props,
      environment: {
        TABLE_NAME: table.tableName,
        ...Object.fromEntries(readable.map((name) => [secretVariables[name], secrets[name].secretArn])),
        ...shared.environment,
        ...(hook && {
          LOGIN_HOOK: hook,
          AWS_ENDPOINT_URL_LAMBDA: `https://lambda.${Stack.of(this).region}.${Stack.of(this).urlSuffix}`,
          LOGIN_HOOK_ON: settings.loginHookOn,
          LOGIN_HOOK_SECONDS: String(settings.loginHookSeconds),
        }),
        ...environment,
        // Another number needs another version, and Lambda publishes one only if the function has changed.
        ...(warm > 0 && { PROVISIONED_CONCURRENCY: String(warm) }),
      },
      // Of the version, not of its alias: an alias that is shifting weights can have none.
      // @see AWS Lambda developer guide, "Implement Lambda canary deployments using a weighted alias"
      currentVersionOptions:
        warm > 0
          ? // Lambda would go on keeping the instances of an earlier version warm, at the same cost.
            { provisionedConcurrentExecutions: warm, removalPolicy: RemovalPolicy.DESTROY }
          : // Earlier versions stay for `release back`, but none of a deployment that was rolled back.
            { removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE },
    });
    resourceOf(this.lambda, CfnFunction).overrideLogicalId(logicalIdOf(key));

    if (settings.tracing) acknowledge(this, 'IAM5[Resource::*]', 'X-Ray has no resources to limit a role to');
    const onTable = ({ action, keys }: TableRight): PolicyStatement =>
      new PolicyStatement({
        actions: [`dynamodb:${action}`],
        resources: action === 'Query' ? [table.tableArn, ...indexArnsOf(table)] : [table.tableArn],
        conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys } },
      });
    const tableRights = tableRightsOf(access);
    for (const right of tableRights) role.addToPrincipalPolicy(onTable(right));
    if (role instanceof FunctionRole)
      for (const right of tableRightsOf({ table: formerRights[key] ?? {} })) role.keepFormer(onTable(right));
    if (tableRights.length > 0) {
      const writes = tableRights.some(({ action }) => !['GetItem', 'BatchGetItem', 'Query'].includes(action));
      allowKey(role, table.encryptionKey, writes ? 'write' : 'read', 'dynamodb');
    }
    if (hook) allow(role, ['lambda:InvokeFunction'], [hook]);
    for (const name of readable) {
      allow(role, ['secretsmanager:GetSecretValue'], [secrets[name].secretArn]);
      allowKey(role, secrets[name].encryptionKey, 'read', 'secretsmanager');
    }
  }
}

/** The ARN of the owner's login hook; undefined when the settings name none. */
function loginHookArn(scope: Construct, { loginHook: resourceName }: Settings): string | undefined {
  if (!resourceName || resourceName.startsWith('arn:')) return resourceName;
  const arnFormat = ArnFormat.COLON_RESOURCE_NAME;
  return Stack.of(scope).formatArn({ service: 'lambda', resource: 'function', resourceName, arnFormat });
}

/**
 * The template's resource of a construct, for properties that the construct itself does not offer.
 * @throws Error when it has another type; the property would be silently missing
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
