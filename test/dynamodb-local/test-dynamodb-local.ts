import { runJest } from '../support/jest.ts';
import { testsWithStore } from '../support/select-tests.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { installDynamoDbLocal, startDynamoDbLocal } from './dynamodb-local.ts';

runCheck(async (cleanUps) => {
  const jars = await step('Fetch DynamoDB Local from Maven Central', installDynamoDbLocal);
  const dynamoDb = cleanUps.use(await step('Start it', () => startDynamoDbLocal(jars)));
  print(`    ${dynamoDb.url}`);
  await step('Run every test that reaches a store against it, those that watch or disturb it too', () =>
    runJest(testsWithStore(), {
      DYNAMODB_ENDPOINT: dynamoDb.url,
    }),
  );
});
