import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';

/** The table of a deployment: its own, or an existing one. */
export type TableInUse = Omit<ITable, 'tableStreamArn'> & {
  tableStreamArn?: string | undefined;
};

/** The bus of a deployment: its own, or an existing one. */
export type BusInUse = Omit<IEventBus, 'eventSourceName'>;
