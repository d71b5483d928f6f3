import { expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import { functions, named, template, templateWith } from '../support/template.ts';

test('the stream is read from its start, and what fails is tried again in halves, and at last told', () => {
  const [table] = Object.keys(template.findResources('AWS::DynamoDB::Table'));
  template.resourceCountIs('AWS::Lambda::EventSourceMapping', 1);
  template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
    EventSourceArn: { 'Fn::GetAtt': [table, 'StreamArn'] },
    FunctionName: { Ref: 'PublishEvents' },
    StartingPosition: 'TRIM_HORIZON',
    BatchSize: 100,
    MaximumBatchingWindowInSeconds: 1,
    FunctionResponseTypes: ['ReportBatchItemFailures'],
    BisectBatchOnFunctionError: true,
    MaximumRecordAgeInSeconds: 23 * 3600,
    // Its age is the only limit of a record, and each shard is read by one call at a time, in order.
    MaximumRetryAttempts: Match.absent(),
    ParallelizationFactor: Match.absent(),
    DestinationConfig: {
      OnFailure: {
        Destination: { 'Fn::GetAtt': [Match.stringLikeRegexp('^EventPublishingDeadLetters'), 'Arn'] },
      },
    },
  });
});

test.each(['EVENT_BUS_NAME', 'DEAD_LETTER_QUEUE_URL'])('no other function is told %s', (variable) => {
  const told = functions.filter(({ properties }) => variable in properties.Environment.Variables);
  expect(told.map(({ properties }) => properties)).toEqual([named('publish-events')]);
});

test('the bus has the name of the stack', () => {
  const buses = Object.values(template.findResources('AWS::Events::EventBus'));
  expect(buses.map(({ Properties }) => Properties.Name)).toEqual(['a-stack']);
});

test('the bus has an archive only for as long as is set', () => {
  template.resourceCountIs('AWS::Events::Archive', 0);
  templateWith({ archiveDays: '30' }).hasResourceProperties('AWS::Events::Archive', {
    ArchiveName: 'a-stack',
    SourceArn: { 'Fn::GetAtt': [Match.stringLikeRegexp('^EventPublishingBus'), 'Arn'] },
    RetentionDays: 30,
  });
});
