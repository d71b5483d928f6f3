import { randomUUID } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { localDynamoDb } from '../../infra/local/dynamodb.ts';
import { checkEveryEvent } from '../publishing/every-event.ts';
import { startBusStandIn } from '../support/bus-stand-in.ts';
import { runJest } from '../support/commands.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { serviceOf } from '../support/service.ts';
import { startService } from '../support/start-service.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { followStream } from './follow-stream.ts';
import { startDynamoDbLocal } from './start-dynamodb-local.ts';

/** The tests whose subject is what a store does: conditions, indexes, pages, streams, errors. */
const aboutTheStore =
  /^test\/(access-requests\/|devices\/|publishing\/published-|storage\/transactions|http\/store-(answers|calls)|people\/(crashes|identities|keeping-ends\.test|people-import|races)|sessions\/(many-sessions|session-races))/;

/**
 * Those of the costs of long lists, which fill a table with thousands of items first; that takes
 * DynamoDB Local minutes. And those of programs and of refused input, which any store serves alike.
 */
const aboutOthers = /\/(access-request-costs|from-csv|search-events-errors|sending-worker)\b/;

/** What a test uses that has a store: a service, or the domain with a table of its own. */
const withStore = /\b(sharedService|ownService|startService)|\bstartOwnTable\b/;

/** Every test that shows whether another store does the same. */
const testsWithStore = (): string[] =>
  globSync('test/**/*.test.ts').filter(
    (file) =>
      aboutTheStore.test(file) &&
      !aboutOthers.test(file) &&
      withStore.test(readFileSync(file, 'utf8')),
  );

/** Runs the tests that lean on the store against Amazon's DynamoDB Local. */
runCheck(async (cleanUps) => {
  await requireTools([tools.jdk, tools.maven]);
  const { url, close } = await step('Start DynamoDB Local', () => startDynamoDbLocal(print));
  cleanUps.defer(close);
  print(`    ${url}`);
  await step('Publish what happens from the real stream of a table', () =>
    checkPublishedEvents(url),
  );
  await step(
    'Run the tests that lean on a store against it, those that watch or disturb it too',
    () => runJest(testsWithStore(), { DYNAMODB_ENDPOINT: url }),
  );
});

/** Checks that each type of event comes from DynamoDB Local's stream, by its schema and in order. */
async function checkPublishedEvents(endpoint: string): Promise<void> {
  const bus = await startBusStandIn();
  const { handler } = await import('../../functions/publish-events.ts');
  const running = await startService({ DYNAMODB_ENDPOINT: endpoint });
  const { demo, directory } = running;
  const client = localDynamoDb(endpoint);
  const { Table } = await client.send(new DescribeTableCommand({ TableName: demo.table_name }));
  const publish = (event: unknown) => handler(event, { awsRequestId: randomUUID() });
  const endStream = followStream(endpoint, Table?.LatestStreamArn ?? '', publish);
  try {
    await checkEveryEvent(serviceOf(demo, directory), () => bus.taken);
  } finally {
    await endStream();
    client.destroy();
    await running.stop();
    await bus.close();
  }
}
