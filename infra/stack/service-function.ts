import { join } from 'node:path';
import { ArnFormat, type CfnResource, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Architecture, CfnFunction, Code, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction, type NodejsFunctionProps } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type {
  AnyEndpoint,
  FunctionRecord,
  SecretName,
  TableAction,
  TableRights,
} from '../../lib/http/endpoint.ts';
import { pascal } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import { type TableRight, tableRightsOf } from '../table-rights.ts';
import { isInstalled } from '../version.ts';
import { bundlesFolder } from './bundles.ts';
import { bundling } from './bundling.ts';
import { acknowledge, allow, allowKey, FunctionRole, InlineRole } from './rights.ts';
import {
  indexArnsOf,
  namedLogGroup,
  type ServiceSecrets,
  type TableInUse,
} from './service-data.ts';

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

const root = join(import.meta.dirname, '../..');

const secretVariables: Record<SecretName, string> = {
  'signing-keys': 'SIGNING_KEYS_SECRET_ID',
  'refresh-tokens': 'REFRESH_TOKENS_SECRET_ID',
  'provider-settings': 'PROVIDER_SETTINGS_SECRET_ID',
};

/**
 * Rights on the table that only functions of 1.0.0 needed. Their roles keep them with the others of
 * 1.0.0.
 */
const formerRights: Record<string, TableRights> = {
  'add-comment': {
    ...withLists(['GetItem', 'BatchGetItem', 'PutItem', 'Query']),
    accounts: ['GetItem'],
  },
  'add-review': withLists(['BatchGetItem', 'Query']),
  'create-access-request': {
    ...withLists(['GetItem', 'BatchGetItem', 'UpdateItem', 'Query']),
    accounts: ['GetItem', 'UpdateItem'],
  },
  'search-events': { ...withLists(['GetItem', 'BatchGetItem', 'Query']), accounts: ['GetItem'] },
  'search-reviews': { ...withLists(['GetItem', 'BatchGetItem', 'Query']), accounts: ['GetItem'] },
  'link-identity': { issuer_keys: ['PutItem'], login_users: ['PutItem', 'DeleteItem'] },
  'receive-notification': { issuer_keys: ['PutItem'], login_users: ['PutItem'] },
};

/**
 * Rights on access requests and on the lists of accounts, which were one kind of items in 1.0.0.
 */
function withLists(actions: TableAction[]): TableRights {
  return { access_requests: actions, access_request_lists: actions };
}

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
    const asked = access.asksLoginHook ? settings.loginHook : undefined;
    const hook =
      asked && !asked.startsWith('arn:') ? arnOf(this, 'lambda', 'function', asked) : asked;
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
      ...(isInstalled
        ? { code: Code.fromAsset(join(root, bundlesFolder, key)), handler: 'index.handler' }
        : { entry: join(root, 'functions', `${key}.ts`), bundling }),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      // CPU grows with memory (1,769 MB is one vCPU): 1,024 MB shortens the cold start; the data
      // needs less.
      memorySize: 1024,
      timeout: Duration.seconds(seconds + (hook ? settings.loginHookSeconds : 0)),
      role,
      logGroup: this.log,
      tracing: settings.tracing ? Tracing.ACTIVE : Tracing.DISABLED,
      ...props,
      environment: {
        TABLE_NAME: table.tableName,
        ...Object.fromEntries(
          readable.map((name) => [secretVariables[name], secrets[name].secretArn]),
        ),
        ...shared.environment,
        ...(hook && {
          LOGIN_HOOK: hook,
          AWS_ENDPOINT_URL_LAMBDA: `https://lambda.${Stack.of(this).region}.${Stack.of(this).urlSuffix}`,
          LOGIN_HOOK_ON: settings.loginHookOn,
          LOGIN_HOOK_SECONDS: String(settings.loginHookSeconds),
        }),
        // Lambda publishes a version with another number only if the function has changed.
        ...(warm > 0 && { PROVISIONED_CONCURRENCY: String(warm) }),
      },
      currentVersionOptions:
        warm > 0
          ? // An alias that shifts weights can't have it. An earlier version would stay warm and cost as much.
            // @see AWS Lambda developer guide, "Implement Lambda canary deployments using a
            // weighted alias"
            { provisionedConcurrentExecutions: warm, removalPolicy: RemovalPolicy.DESTROY }
          : // Earlier versions stay for `release back`, but none of a deployment that was rolled back.
            { removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE },
    });
    resourceOf(this.lambda, CfnFunction).overrideLogicalId(pascal(key));

    if (settings.tracing)
      acknowledge(this, 'IAM5[Resource::*]', 'X-Ray has no resources to limit a role to');
    const onTable = ({ action, keys }: TableRight): PolicyStatement =>
      new PolicyStatement({
        actions: [`dynamodb:${action}`],
        resources: action === 'Query' ? [table.tableArn, ...indexArnsOf(table)] : [table.tableArn],
        conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys } },
      });
    const tableRights = tableRightsOf(access);
    for (const right of tableRights) role.addToPrincipalPolicy(onTable(right));
    if (role instanceof FunctionRole)
      for (const right of tableRightsOf({ table: formerRights[key] ?? {} }))
        role.keepFormer(onTable(right));
    if (tableRights.length > 0) {
      const writes = tableRights.some(
        ({ action }) => !['GetItem', 'BatchGetItem', 'Query'].includes(action),
      );
      allowKey(role, table.encryptionKey, writes ? 'write' : 'read', 'dynamodb');
    }
    if (hook) allow(role, ['lambda:InvokeFunction'], [hook]);
    for (const name of readable) {
      allow(role, ['secretsmanager:GetSecretValue'], [secrets[name].secretArn]);
      allowKey(role, secrets[name].encryptionKey, 'read', 'secretsmanager');
    }
  }
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
