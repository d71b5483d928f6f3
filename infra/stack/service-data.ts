import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import * as dynamodb from 'aws-cdk-lib/aws-dynamodb';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Queue, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import type { SecretName } from '../../lib/http/endpoint.ts';
import { table } from '../../lib/storage/table.ts';
import type { Settings } from '../settings/settings.ts';
import { acknowledge } from './rights.ts';

/** The table of a deployment: its own, or an existing one. */
export type TableInUse = Omit<dynamodb.ITable, 'tableStreamArn'> & {
  tableStreamArn?: string | undefined;
};

export type ServiceSecrets = Record<SecretName, Secret>;

const { DESTROY, RETAIN, RETAIN_ON_UPDATE_OR_DELETE } = RemovalPolicy;

/** The policy for what holds data: in production it outlives the stack. */
export const removalPolicyOf = (settings: Settings): RemovalPolicy =>
  settings.removalPolicy === 'retain' ? RETAIN : DESTROY;

/** As `removalPolicyOf`, except that a first deployment that fails deletes it again. @see AWS CloudFormation, RetainExceptOnCreate */
export const removalPolicyOnceUsed = (settings: Settings): RemovalPolicy =>
  settings.removalPolicy === 'retain' ? RETAIN_ON_UPDATE_OR_DELETE : DESTROY;

/** A log group that is deleted with the stack: retained, its fixed name would be in the way of a new stack of that name. */
export const namedLogGroup = (
  scope: Construct,
  id: string,
  logGroupName: string,
  { logRetentionDays: retention }: Settings,
  encryptionKey: IKey | undefined,
): LogGroup =>
  new LogGroup(scope, id, {
    ...{ logGroupName, retention, removalPolicy: DESTROY },
    ...definedOnly({ encryptionKey }),
  });

/** A queue for what could not be delivered, which nothing consumes but the operator. */
export function deadLetterQueue(scope: Construct, id: string, key: IKey | undefined, props: QueueProps) {
  const retentionPeriod = Duration.days(14);
  const encryption = definedOnly({ encryptionMasterKey: key });
  const queue = new Queue(scope, id, { enforceSSL: true, retentionPeriod, ...encryption, ...props });
  acknowledge(queue, 'SQS3', 'It is a dead-letter queue itself');
  return queue;
}

const text = (name: string) => ({ name, type: dynamodb.AttributeType.STRING });

/** The one table, which in production cannot be deleted by mistake; or an existing one, such as a restored one, that the settings name. */
export function serviceTable(scope: Construct, settings: Settings, key: IKey | undefined): TableInUse {
  const { tableName, tableStreamArn, warmReadUnits, warmWriteUnits, maxWriteUnits } = settings;
  const own = definedOnly({ encryptionKey: key });
  if (tableName)
    return dynamodb.Table.fromTableAttributes(scope, 'ExistingTable', {
      tableName,
      ...definedOnly({ tableStreamArn }),
      ...own,
    });
  const warmThroughput = definedOnly({
    readUnitsPerSecond: warmReadUnits,
    writeUnitsPerSecond: warmWriteUnits,
  });
  // Not RetainExceptOnCreate: after a failed first deployment, the protection would keep CloudFormation from deleting it.
  const removalPolicy = removalPolicyOf(settings);
  const created = new dynamodb.Table(scope, 'Table', {
    partitionKey: text(table.partitionKey),
    sortKey: text(table.sortKey),
    stream: dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
    timeToLiveAttribute: table.timeToLive,
    billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
    ...(key ? own : { encryption: dynamodb.TableEncryption.AWS_MANAGED }),
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: removalPolicy === RETAIN,
    removalPolicy,
    ...definedOnly({ maxWriteRequestUnits: maxWriteUnits }),
    ...(Object.keys(warmThroughput).length > 0 && { warmThroughput }),
  });
  for (const [indexName, { sortKey, projection }] of Object.entries(table.localIndexes)) {
    const projectionType = dynamodb.ProjectionType[projection];
    created.addLocalSecondaryIndex({ indexName, sortKey: text(sortKey), projectionType });
  }
  for (const [indexName, { partitionKey, sortKey, projection }] of Object.entries(table.globalIndexes)) {
    const projectionType = dynamodb.ProjectionType[projection];
    const keys = { partitionKey: text(partitionKey), sortKey: text(sortKey) };
    created.addGlobalSecondaryIndex({ indexName, ...keys, projectionType });
  }
  return created;
}

/** Without a wildcard, so that the template shows a function's permissions. */
export const indexArnsOf = ({ tableArn }: Pick<TableInUse, 'tableArn'>): string[] =>
  Object.keys({ ...table.localIndexes, ...table.globalIndexes }).map((name) => `${tableArn}/index/${name}`);

/**
 * The secrets of the service; in production they outlive the stack. Never change how a value is generated: the next
 * update would generate a new one, and every token and every provider secret in the table would be lost.
 */
export function serviceSecrets(stack: Construct, settings: Settings, key: IKey | undefined): ServiceSecrets {
  const scope = new Construct(stack, 'Secrets');
  // The region that takes over from another has the same settings, and cannot have a copy of its own secrets.
  const regions = settings.replicaRegions?.filter((region) => region !== settings.region) ?? [];
  const kept = {
    ...definedOnly({ encryptionKey: key }),
    removalPolicy: removalPolicyOnceUsed(settings),
    // @see AWS Secrets Manager user guide, "Replicate AWS Secrets Manager secrets across Regions"
    replicaRegions: regions.map((region) => ({ region })),
  };
  const random = { generateSecretString: { passwordLength: 64, excludePunctuation: true } };
  return {
    // It holds a random text until the first rotation, at deployment, creates the keys.
    'signing-keys': new Secret(scope, 'SigningKeys', {
      description: 'The keys that sign access tokens; written by their rotation alone',
      ...kept,
    }),
    // They hold a random text at first, too. Rotations then write key sets that begin with that text.
    'refresh-tokens': new Secret(scope, 'RefreshTokens', {
      description: 'What the key of refresh tokens is derived from',
      ...random,
      ...kept,
    }),
    'provider-settings': new Secret(scope, 'ProviderSettings', {
      description: 'What the key that encrypts provider settings is derived from',
      ...random,
      ...kept,
    }),
  };
}
