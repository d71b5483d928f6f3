import { Duration } from 'aws-cdk-lib';
import { CfnArchive, EventBus } from 'aws-cdk-lib/aws-events';
import * as lambda from 'aws-cdk-lib/aws-lambda';
import { type Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { streamFilter } from '../../lib/publishing/stream-filter.ts';
import type { BusInUse } from './resources-in-use.ts';
import { allow, allowKey } from './rights.ts';
import { deadLetterQueue } from './service-data.ts';
import type { Deployment, ServiceFunction } from './service-function.ts';

/**
 * Publishes what happens: the table's stream calls a function, which puts events on an event bus.
 */
export class EventPublishing extends Construct {
  readonly bus: BusInUse;
  readonly deadLetters: Queue;
  readonly publisher: lambda.IFunction;

  /**
   * @param existing a bus that is there already
   * @throws Error when the table has no stream
   */
  constructor(
    scope: Construct,
    id: string,
    { settings, table, key }: Deployment,
    { lambda: publisher }: ServiceFunction,
    existing?: BusInUse,
  ) {
    super(scope, id);
    const { stack: name, archiveDays: retentionDays } = settings;
    const { tableStreamArn } = table;
    if (!tableStreamArn) throw new Error('The table has no stream.');
    const description = 'What happened in the login service';
    this.bus = existing ?? new EventBus(this, 'Bus', { eventBusName: name, description });
    const { eventBusArn: sourceArn } = this.bus;
    if (retentionDays)
      new CfnArchive(this, 'Archive', { archiveName: name, sourceArn, retentionDays });
    const encryption = key ? QueueEncryption.KMS : QueueEncryption.SQS_MANAGED;
    this.deadLetters = deadLetterQueue(this, 'DeadLetters', key, { encryption });
    this.publisher = publisher;
    // An existing bus may be that of another account.
    publisher.addEnvironment('EVENT_BUS_NAME', existing?.eventBusArn ?? this.bus.eventBusName);
    publisher.addEnvironment('DEAD_LETTER_QUEUE_URL', this.deadLetters.queueUrl);
    if (settings.externalIdInEvents) publisher.addEnvironment('EXTERNAL_ID_IN_EVENTS', 'true');
    allow(publisher, streamActions, [tableStreamArn]);
    allow(publisher, ['events:PutEvents'], [this.bus.eventBusArn]);
    allow(publisher, ['sqs:SendMessage'], [this.deadLetters.queueArn]);
    allowKey(publisher, table.encryptionKey, 'read', 'dynamodb');
    allowKey(publisher, key, 'write', 'sqs');
    new lambda.EventSourceMapping(this, 'Stream', {
      target: publisher,
      eventSourceArn: tableStreamArn,
      // Nothing is lost between the creation of the stream and the first call.
      startingPosition: lambda.StartingPosition.TRIM_HORIZON,
      batchSize: 100,
      maxBatchingWindow: Duration.seconds(1),
      // Batches of a shard that are published at the same time. Those of one item stay in order.
      parallelizationFactor: 10,
      filters: streamFilter.map((pattern) => lambda.FilterCriteria.filter(pattern)),
      reportBatchItemFailures: true,
      // A batch that fails as a whole, such as one that takes too long, is tried again in halves.
      bisectBatchOnError: true,
      // An hour before the stream loses a record, Lambda writes its place to the dead-letter queue.
      maxRecordAge: Duration.hours(23),
      onFailure: { bind: () => ({ destination: this.deadLetters.queueArn }) },
    });
  }
}

/** @see AWS Lambda developer guide, "Using AWS Lambda with Amazon DynamoDB": the execution role */
const streamActions = ['DescribeStream', 'GetRecords', 'GetShardIterator', 'ListStreams'].map(
  (action) => `dynamodb:${action}`,
);
