import { RemovalPolicy } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  type ITable,
  ProjectionType,
  StreamViewType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { table } from '../../lib/storage/table.ts';
import type { Settings } from '../settings/settings.ts';

const text = (name: string) => ({ name, type: AttributeType.STRING });

/** The one table. In production it cannot be deleted by mistake, and outlives the stack. */
export class ServiceTable extends Table {
  constructor(
    scope: Construct,
    id: string,
    removalPolicy: RemovalPolicy,
    {
      warmReadUnits,
      warmWriteUnits,
      maxWriteUnits,
    }: Pick<Settings, 'warmReadUnits' | 'warmWriteUnits' | 'maxWriteUnits'>,
    encryptionKey?: IKey,
  ) {
    super(scope, id, {
      partitionKey: text(table.partitionKey),
      sortKey: text(table.sortKey),
      stream: StreamViewType.NEW_AND_OLD_IMAGES,
      timeToLiveAttribute: table.timeToLive,
      billingMode: BillingMode.PAY_PER_REQUEST,
      encryption: encryptionKey ? TableEncryption.CUSTOMER_MANAGED : TableEncryption.AWS_MANAGED,
      ...(encryptionKey && { encryptionKey }),
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
      deletionProtection: removalPolicy === RemovalPolicy.RETAIN,
      // Not RetainExceptOnCreate: after a failed first deployment, the protection would keep CloudFormation from deleting it.
      removalPolicy,
      ...(maxWriteUnits && { maxWriteRequestUnits: maxWriteUnits }),
      ...((warmReadUnits || warmWriteUnits) && {
        warmThroughput: {
          ...(warmReadUnits && { readUnitsPerSecond: warmReadUnits }),
          ...(warmWriteUnits && { writeUnitsPerSecond: warmWriteUnits }),
        },
      }),
    });
    for (const [indexName, { sortKey, projection }] of Object.entries(table.localIndexes)) {
      this.addLocalSecondaryIndex({
        indexName,
        sortKey: text(sortKey),
        projectionType: ProjectionType[projection],
      });
    }
    for (const [indexName, { partitionKey, sortKey, projection }] of Object.entries(table.globalIndexes)) {
      this.addGlobalSecondaryIndex({
        indexName,
        partitionKey: text(partitionKey),
        sortKey: text(sortKey),
        projectionType: ProjectionType[projection],
      });
    }
  }
}

/** An existing table, such as a restored one, instead of the stack's own. */
export const existingTable = (
  scope: Construct,
  tableName: string,
  tableStreamArn?: string,
  encryptionKey?: IKey,
): ITable =>
  Table.fromTableAttributes(scope, 'ExistingTable', {
    tableName,
    ...(tableStreamArn && { tableStreamArn }),
    ...(encryptionKey && { encryptionKey }),
  });

/** Without a wildcard, so that the template shows a function's permissions. */
export const indexArnsOf = ({ tableArn }: Pick<ITable, 'tableArn'>): string[] =>
  [...Object.keys(table.localIndexes), ...Object.keys(table.globalIndexes)].map(
    (name) => `${tableArn}/index/${name}`,
  );
