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
import type { TableInUse } from './resources-in-use.ts';
import { acknowledge } from './rights.ts';

export type ServiceSecrets = Record<SecretName, Secret>;

const { DESTROY, RETAIN, RETAIN_ON_UPDATE_OR_DELETE } = RemovalPolicy;

/** The removal policy of data, which in production outlives the stack. */
export const removalPolicyOf = (settings: Settings): RemovalPolicy =>
  settings.removalPolicy === 'retain' ? RETAIN : DESTROY;

/**
 * As `removalPolicyOf`, but a first deployment that fails deletes it again.
 * @see AWS CloudFormation, RetainExceptOnCreate
 */
export const removalPolicyOnceUsed = (settings: Settings): RemovalPolicy =>
  settings.removalPolicy === 'retain' ? RETAIN_ON_UPDATE_OR_DELETE : DESTROY;

/**
 * A log group that is deleted with the stack: if it stayed, its name would be in the way of a new
 * stack.
 */
export const namedLogGroup = (
  scope: Construct,
  id: string,
  logGroupName: string,
  { logRetentionDays: retention }: Settings,
  encryptionKey: IKey | undefined,
) =>
  new LogGroup(
    scope,
    id,
    definedOnly({ logGroupName, retention, removalPolicy: DESTROY, encryptionKey }),
  );

/** A queue for what could not be delivered, which only the operator empties. */
export function deadLetterQueue(
  scope: Construct,
  id: string,
  key: IKey | undefined,
  props: QueueProps,
) {
  const kept = definedOnly({ retentionPeriod: Duration.days(14), encryptionMasterKey: key });
  const queue = new Queue(scope, id, { enforceSSL: true, ...kept, ...props });
  acknowledge(queue, 'SQS3', 'It is a dead-letter queue itself');
  return queue;
}

/** A key attribute of the table or an index. */
const text = (name: string) => ({ name, type: dynamodb.AttributeType.STRING });

/**
 * The one table, protected from deletion in production; or an existing one, such as a restored one,
 * that the settings name.
 */
export function serviceTable(
  scope: Construct,
  settings: Settings,
  key: IKey | undefined,
): TableInUse {
  const { tableName, tableStreamArn, warmReadUnits, warmWriteUnits, maxWriteUnits } = settings;
  if (tableName) {
    const attributes = definedOnly({ tableName, tableStreamArn, encryptionKey: key });
    return dynamodb.Table.fromTableAttributes(scope, 'ExistingTable', attributes);
  }
  const warm = definedOnly({
    readUnitsPerSecond: warmReadUnits,
    writeUnitsPerSecond: warmWriteUnits,
  });
  const hasWarmThroughput = Object.keys(warm).length > 0;
  const encryption = key
    ? { encryptionKey: key }
    : { encryption: dynamodb.TableEncryption.AWS_MANAGED };
  // Not RetainExceptOnCreate: the protection would keep a failed first deployment from deleting it.
  const removalPolicy = removalPolicyOf(settings);
  const created = new dynamodb.Table(scope, 'Table', {
    partitionKey: text(table.partitionKey),
    sortKey: text(table.sortKey),
    stream: dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
    timeToLiveAttribute: table.timeToLive,
    billingMode: dynamodb.BillingMode.PAY_PER_REQUEST,
    ...encryption,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: removalPolicy === RETAIN,
    removalPolicy,
    ...definedOnly({ maxWriteRequestUnits: maxWriteUnits }),
    ...(hasWarmThroughput && { warmThroughput: warm }),
  });
  for (const [indexName, index] of Object.entries(table.localIndexes)) {
    created.addLocalSecondaryIndex({
      indexName,
      sortKey: text(index.sortKey),
      projectionType: dynamodb.ProjectionType[index.projection],
    });
  }
  for (const [indexName, index] of Object.entries(table.globalIndexes)) {
    created.addGlobalSecondaryIndex({
      indexName,
      partitionKey: text(index.partitionKey),
      sortKey: text(index.sortKey),
      projectionType: dynamodb.ProjectionType[index.projection],
    });
  }
  return created;
}

/**
 * The secrets of the service; in production they outlive the stack. Never change how a value is
 * generated: the next update would generate new ones, and all tokens and all provider secrets in
 * the table would be lost.
 */
export function serviceSecrets(
  stack: Construct,
  settings: Settings,
  key: IKey | undefined,
): ServiceSecrets {
  const scope = new Construct(stack, 'Secrets');
  // A second region has the settings of the first, and can't have replicas of its own secrets.
  const regions = settings.replicaRegions?.filter((region) => region !== settings.region) ?? [];
  const kept = definedOnly({
    encryptionKey: key,
    removalPolicy: removalPolicyOnceUsed(settings),
    // @see AWS Secrets Manager user guide, "Replicate AWS Secrets Manager secrets across Regions"
    replicaRegions: regions.map((region) => ({ region })),
  });
  // Rotations write key sets that begin with this text.
  const generateSecretString = { passwordLength: 64, excludePunctuation: true };
  const secretFor = (derived: string, id: string): Secret =>
    new Secret(scope, id, {
      ...kept,
      description: `What ${derived} is derived from`,
      generateSecretString,
    });
  return {
    // The first rotation, at deployment, replaces its random text with the keys.
    'signing-keys': new Secret(scope, 'SigningKeys', {
      description: 'The keys that sign access tokens; written by their rotation alone',
      ...kept,
    }),
    'refresh-tokens': secretFor('the key of refresh tokens', 'RefreshTokens'),
    'provider-settings': secretFor('the key that encrypts provider settings', 'ProviderSettings'),
  };
}
