import { runJest } from '../support/jest.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { installDynamoDbLocal, startDynamoDbLocal } from './dynamodb-local.ts';

/** What no store has a part in. */
const withoutStore = ['/test/infra/', '/test/units/'];

runCheck(async (cleanUps) => {
  const jars = await step('Fetch DynamoDB Local from Maven Central', installDynamoDbLocal);
  const dynamoDb = cleanUps.use(await step('Start it', () => startDynamoDbLocal(jars)));
  print(`    ${dynamoDb.url}`);
  await step('Run the tests that reach the store against it', () =>
    runJest(['--testPathIgnorePatterns', '/node_modules/', ...withoutStore], {
      DYNAMODB_ENDPOINT: dynamoDb.url,
    }),
  );
});
