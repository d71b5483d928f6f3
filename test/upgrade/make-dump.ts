import { rmSync } from 'node:fs';
import { startDynamoDbLocal } from '../../infra/local/dynamodb-local/start-dynamodb-local.ts';
import { localDirectory } from '../../infra/local/local-directories.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { checkOut } from './checkout.ts';
import { keepDump } from './dump.ts';
import { fill } from './fill.ts';
import { serveCheckout } from './serve.ts';

/** Ports that no system hands out as free ones. Tokens and identities of the dump name them. */
const ports: [number, number] = [18473, 18474];

/**
 * Fills a table with the code of a commit, and keeps it in `test/upgrade/dump` with all that was left in the hands of clients:
 * `node test/upgrade/make-dump.ts COMMIT`.
 */
runCheck(async (cleanUps) => {
  await requireTools([tools.jdk, tools.maven]);
  const [, , commit = ''] = process.argv;
  const root = await step(`Check out ${commit}`, () => checkOut(commit));
  rmSync(localDirectory('upgrade'), { recursive: true });
  const dynamoDb = await step('Start DynamoDB Local', () => startDynamoDbLocal(print));
  cleanUps.defer(dynamoDb.close);
  const folder = localDirectory('upgrade', 'data');
  const { service, server } = await step('Serve its code', () =>
    serveCheckout({ root, folder, dynamoDbEndpoint: dynamoDb.url, ports }),
  );
  cleanUps.use(server);
  const left = await step('Fill a table', () => fill(service));
  await step('Keep it', () => keepDump(dynamoDb.url, folder, left));
});
