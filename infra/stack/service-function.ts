import { join } from 'node:path';
import { Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Architecture, CfnFunction, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { Access, SecretName } from '../../lib/http/endpoint.ts';
import { tableRightsOf } from '../table-rights.ts';
import { bundling } from './bundling.ts';
import { InlineRole } from './inline-role.ts';
import { allow, allowKey } from './key-rights.ts';
import { resourceOf } from './resource-of.ts';
import { indexArnsOf } from './service-table.ts';

export interface ServiceFunctionProps {
  access: Access;
  table: Pick<ITable, 'tableName' | 'tableArn' | 'encryptionKey'>;
  secrets: Record<SecretName, Secret>;
  logRetentionDays: number;
  /** The deployment's own key, which encrypts the log. */
  logKey?: IKey | undefined;
  /** Environment variables in addition to those of the table and the secrets. */
  environment?: Record<string, string>;
  functionName?: string;
  /** The most instances, which no other function can take away. @default what the account has left */
  reservedConcurrentExecutions?: number;
  /** Whether X-Ray samples its invocations. Lambda does that itself, so the bundle is the same. */
  tracing?: boolean;
  /** Provisioned concurrency: instances of the live version that are kept warm. @default 0 */
  warm?: number;
}

const functionsFolder = join(import.meta.dirname, '../../functions');

const secretVariables: Record<SecretName, string> = {
  'signing-keys': 'SIGNING_KEYS_SECRET_ID',
  'refresh-tokens': 'REFRESH_TOKENS_SECRET_ID',
  'provider-settings': 'PROVIDER_SETTINGS_SECRET_ID',
};

/**
 * One Lambda: the file in `functions/` that its id names, its log, and its own role, which may do with the table and
 * the secrets only what `access` says. Its logical id is its key in Pascal case.
 */
export class ServiceFunction extends Construct {
  readonly key: string;
  readonly lambda: NodejsFunction;
  readonly log: LogGroup;

  constructor(scope: Construct, key: string, props: ServiceFunctionProps) {
    super(scope, key);
    const { access, table, secrets, environment, warm = 0, tracing = false, ...more } = props;
    const { logRetentionDays, logKey, ...others } = more;
    const { secrets: readable = [] } = access;
    this.key = key;
    this.log = new LogGroup(this, 'Log', {
      logGroupName: logGroupNameOf(this, key),
      retention: logRetentionDays,
      ...(logKey && { encryptionKey: logKey }),
      // Its name is fixed: if it were retained, the stack could not be deployed again under the same name.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    // The CDK's default role may write to every log group of the account.
    const role = new InlineRole(this, 'Role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    this.log.grantWrite(role);

    this.lambda = new NodejsFunction(this, 'Function', {
      description: access.summary,
      entry: join(functionsFolder, `${key}.ts`),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      // CPU grows with memory (1,769 MB is one vCPU): 1,024 MB shortens the cold start; the data needs less.
      memorySize: 1024,
      timeout: Duration.seconds(access.seconds ?? 10),
      role,
      logGroup: this.log,
      bundling,
      ...(tracing && { tracing: Tracing.ACTIVE }),
      ...others,
      environment: {
        TABLE_NAME: table.tableName,
        ...Object.fromEntries(readable.map((name) => [secretVariables[name], secrets[name].secretArn])),
        ...environment,
        // Another number needs another version, and Lambda publishes one only if the function has changed.
        // @see AWS::Lambda::Version ProvisionedConcurrencyConfiguration, "Update requires: Replacement"
        ...(warm > 0 && { PROVISIONED_CONCURRENCY: String(warm) }),
      },
      // Of the version, not of its alias: an alias that is shifting weights can have none.
      // @see AWS Lambda developer guide, "Implement Lambda canary deployments using a weighted alias"
      ...(warm > 0 && { currentVersionOptions: { provisionedConcurrentExecutions: warm } }),
    });
    resourceOf(this.lambda, CfnFunction).overrideLogicalId(logicalIdOf(key));

    if (tracing) {
      Validations.of(this).acknowledge({
        id: 'AwsSolutions-IAM5[Resource::*]',
        reason: 'X-Ray has no resources that a role could be limited to when it writes traces',
      });
    }
    const tableRights = tableRightsOf(access);
    for (const { action, keys } of tableRights) {
      role.addToPolicy(
        new PolicyStatement({
          actions: [`dynamodb:${action}`],
          resources: action === 'Query' ? [table.tableArn, ...indexArnsOf(table)] : [table.tableArn],
          conditions: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': keys } },
        }),
      );
    }
    if (tableRights.length > 0) {
      const writes = tableRights.some(({ action }) => !['GetItem', 'BatchGetItem', 'Query'].includes(action));
      allowKey(role, table.encryptionKey, writes ? 'write' : 'read', 'dynamodb');
    }
    for (const name of readable) {
      allow(role, ['secretsmanager:GetSecretValue'], [secrets[name].secretArn]);
      allowKey(role, secrets[name].encryptionKey, 'read', 'secretsmanager');
    }
  }
}

/** The name of a function's log group; `*` stands for those of all functions of the stack. */
export const logGroupNameOf = (scope: Construct, key: string): string =>
  `/${Stack.of(scope).stackName}/${key}`;

/** The name that `sam local invoke` takes: `issue-token` is `IssueToken`. */
export const logicalIdOf = (key: string): string =>
  key.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
