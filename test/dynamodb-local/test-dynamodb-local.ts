import { runJest } from '../support/jest.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { installDynamoDbLocal, startDynamoDbLocal } from './dynamodb-local.ts';

/** The folders of tests that reach no store. All others run: black-box, of the store's calls, of the domain. */
const withoutStore = ['/test/docs/', '/test/infra/', '/test/providers/', '/test/units/'];

runCheck(async (cleanUps) => {
  const jars = await step('Fetch DynamoDB Local from Maven Central', installDynamoDbLocal);
  const dynamoDb = cleanUps.use(await step('Start it', () => startDynamoDbLocal(jars)));
  print(`    ${dynamoDb.url}`);
  await step('Run every test that reaches a store against it, those that watch or disturb it too', () =>
    runJest(['--testPathIgnorePatterns', '/node_modules/', ...withoutStore], {
      DYNAMODB_ENDPOINT: dynamoDb.url,
    }),
  );
});
