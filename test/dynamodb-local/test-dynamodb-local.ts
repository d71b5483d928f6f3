import { runJest } from '../support/commands.ts';
import { testsWithStore } from '../support/select-tests.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { installDynamoDbLocal, requireDynamoDbTools, startDynamoDbLocal } from './dynamodb-local.ts';
import { checkPublishedEvents } from './published-events.ts';

/** Runs the tests that lean on the store against Amazon's DynamoDB Local. */
runCheck(async (cleanUps) => {
  await requireDynamoDbTools();
  const jars = await step('Fetch DynamoDB Local from Maven Central', installDynamoDbLocal);
  const { url } = cleanUps.use(await step('Start it', () => startDynamoDbLocal(jars, 'dynamodb-local')));
  print(`    ${url}`);
  await step('Publish what happens from the real stream of a table', () => checkPublishedEvents(url));
  await step('Run the tests that lean on a store against it, those that watch or disturb it too', () =>
    runJest(testsWithStore(), { DYNAMODB_ENDPOINT: url }),
  );
});
