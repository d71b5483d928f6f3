import { startDynamoDbLocal } from '../../infra/local/dynamodb-local/start-dynamodb-local.ts';
import { runJest } from '../support/commands.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { testsWithStore } from '../support/select-tests.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { checkPublishedEvents } from './published-events.ts';

/** Runs the tests that lean on the store against Amazon's DynamoDB Local. */
runCheck(async (cleanUps) => {
  await requireTools([tools.jdk, tools.maven]);
  await step('Publish what happens from the real stream of a table', checkPublishedEvents);
  const { url, close } = await step('Start DynamoDB Local', () => startDynamoDbLocal(print));
  cleanUps.defer(close);
  print(`    ${url}`);
  await step('Run the tests that lean on a store against it, those that watch or disturb it too', () =>
    runJest(testsWithStore(), { DYNAMODB_ENDPOINT: url }),
  );
});
