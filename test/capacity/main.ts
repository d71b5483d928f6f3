import { mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStack } from '../../infra/local/stack.ts';
import { serviceOf } from '../support/service.ts';
import { Meter } from './measure.ts';
import { measureRequests } from './requests.ts';

// Measures what requests consume and prints the tables of `docs/capacity.md`.
const print = process.stdout.write.bind(process.stdout);
process.env.METRICS_NAMESPACE = 'login-service';
// Lambda sets it, and it makes every line longer.
process.env._X_AMZN_TRACE_ID = `Root=1-${'0'.repeat(8)}-${'0'.repeat(24)}`;
process.stdout.write = () => true;
const stack = await startStack({ port: 0 });
const { demo } = stack;
// All load AWS clients, which read the environment that the stack has set.
const { costTable, edgeTable, hookTable, monthTable, limitTable, partitionTable } = await import(
  './tables.ts'
);
const { store } = await import('../../lib/storage/client.ts');
const { createSecretlessClient, publicGrantTypes: grant_types } = await import(
  '../../lib/login-apps/clients.ts'
);
const publicClient = await createSecretlessClient(demo.login_app.login_app_id, {
  grant_types,
  public_on: 'ios',
});
const folder = mkdtempDisposableSync(join(tmpdir(), 'capacity-'));
const service = serviceOf(demo, folder.path);
const measured = await measureRequests(new Meter(store), service, publicClient);
await stack.close();
folder.remove();

const tables = [
  costTable(measured),
  monthTable(measured),
  hookTable(),
  edgeTable(),
  limitTable(measured),
  partitionTable(measured),
];
print(`${tables.join('\n\n')}\n`);
process.exit();
