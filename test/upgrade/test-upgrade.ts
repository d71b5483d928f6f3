import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { startDynalite } from '../../infra/local/dynamodb.ts';
import { startDynamoDbLocal } from '../../infra/local/dynamodb-local/start-dynamodb-local.ts';
import { localDirectory } from '../../infra/local/local-directories.ts';
import { countedChecks } from '../support/counted-checks.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { serviceOf } from '../support/service.ts';
import { startService } from '../support/start-service.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { checkOut } from './checkout.ts';
import { restoreDump } from './dump.ts';
import { fill } from './fill.ts';
import release from './release.json' with { type: 'json' };
import { clockAt, serveCheckout } from './serve.ts';
import { use } from './use.ts';

const root = join(import.meta.dirname, '..', '..');

/**
 * Uses what the earliest version that can be updated has left, with this version, on DynamoDB Local and as `LOCAL_DATA`; then what this version
 * has left, with the release, as after a rollback.
 */
runCheck(async (cleanUps) => {
  await requireTools([tools.jdk, tools.maven]);
  rmSync(localDirectory('upgrade'), { recursive: true });
  const released = await step(`Check out release ${release.version}`, () => checkOut(release.commit));
  const dynamoDb = await step('Start DynamoDB Local', () => startDynamoDbLocal(print));
  cleanUps.defer(dynamoDb.close);
  const dynamoDbEndpoint = dynamoDb.url;
  /** A folder as of `LOCAL_DATA`. */
  const folderOf = (name: string) => localDirectory('upgrade', name);
  const serving = async <Result>(
    options: Pick<Parameters<typeof serveCheckout>[0], 'root' | 'folder' | 'at'>,
    work: (service: ReturnType<typeof serviceOf>) => Promise<Result>,
  ): Promise<Result> => {
    const { service, server } = await serveCheckout({ ...options, dynamoDbEndpoint });
    await using _ = server;
    return await work(service);
  };
  const { check, conclude } = countedChecks('upgrade');

  await check('Use what the earliest version has left', async () => {
    const folder = folderOf('earliest');
    const left = await restoreDump(dynamoDbEndpoint, folder);
    await serving({ root, folder, at: left.at }, (service) => use(service, left));
  });
  await check('Use the same as LOCAL_DATA', async () => {
    const folder = folderOf('local-data');
    mkdirSync(join(folder, 'table'));
    const store = await startDynalite(join(folder, 'table'));
    const left = await restoreDump(store.url, folder);
    await store.close();
    const { words, env } = clockAt(left.at);
    const running = await startService({ LOCAL_DATA: folder, NODE_OPTIONS: words.join(' '), ...env });
    await use(serviceOf(running.demo, running.directory), left);
    await running.stop();
  });
  await check(`Use what this version has left with release ${release.version}`, async () => {
    const folder = folderOf('rollback');
    const left = await serving({ root, folder }, fill);
    await serving({ root: released, folder }, (service) => use(service, left));
  });
  conclude();
});
