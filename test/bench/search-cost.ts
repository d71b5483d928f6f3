import { writeFileSync } from 'node:fs';
import { writeEvents } from '../support/many-events.ts';
import { startOwnTable } from '../support/own-table.ts';
import { startStoreProxy } from '../support/store-proxy.ts';
import { chart } from './chart.ts';
import type { Measurement } from './measurement.ts';

const sizes = [10, 100, 1_000, 10_000, 100_000];
const repetitions = 31;
const pageSize = 8;
const filters = {
  'no filter': {},
  actor_type: { actor_type: 'custom' },
  actor_id: { actor_id: 'actor-3' },
  both: { actor_type: 'custom', actor_id: 'actor-3' },
  'the reviews': { type: 'review' },
} as const;
const chartFile = 'docs/search-cost.svg';

const print = (line: string) => process.stdout.write(`${line}\n`);

/** Measures what a search asks of the store and how long it takes, over more and more events. */
async function main(): Promise<void> {
  const { url, dynamoDb, tableName, stop } = await startOwnTable();
  const proxy = await startStoreProxy(url);
  process.env.AWS_ENDPOINT_URL_DYNAMODB = proxy.url;
  const { createAccessRequest } = await import('../../lib/access-requests/access-request.ts');
  const { searchEvents } = await import('../../lib/access-requests/search-events.ts');
  const { access_request_id } = await createAccessRequest('ac_bench');

  const measure = async (filter: keyof typeof filters, page: number) => {
    const search = { ...filters[filter], access_request_id, page, page_size: pageSize };
    const times: number[] = [];
    for (let run = 0; run < repetitions; run += 1) {
      proxy.forget();
      const startedAt = performance.now();
      await searchEvents('ac_bench', search);
      times.push(performance.now() - startedAt);
    }
    const calls = proxy.calls();
    const units = calls.reduce((sum, call) => sum + call.units, 0);
    const milliseconds = times.toSorted((a, b) => a - b)[Math.floor(repetitions / 2)] ?? 0;
    return { requests: calls.length, units, milliseconds };
  };

  const measurements: Measurement[] = [];
  const lengths = new Map<string, number>();
  print(`| events | filter | page | store requests | read units | ms |\n|--:|---|---|--:|--:|--:|`);
  let written = 0;
  for (const events of sizes) {
    await writeEvents(dynamoDb, tableName, access_request_id, [written + 1, events], lengths);
    written = events;
    // Unmeasured, so that the first sizes are not charged for what the engine is still compiling.
    if (events === sizes[0]) for (let run = 0; run < 20; run += 1) await measure('no filter', 1);
    for (const filter of Object.keys(filters) as (keyof typeof filters)[]) {
      const request = { ...filters[filter], access_request_id, page: 1, page_size: pageSize };
      const { total } = await searchEvents('ac_bench', request);
      const last = Math.max(1, Math.ceil(total / pageSize));
      for (const [page, number] of [
        ['first', 1],
        ['middle', Math.ceil(last / 2)],
        ['last', last],
      ] as const) {
        const cost = await measure(filter, number);
        measurements.push({ events, filter, page, ...cost });
        const ms = cost.milliseconds.toFixed(1);
        print(`| ${events} | ${filter} | ${page} | ${cost.requests} | ${cost.units} | ${ms} |`);
      }
    }
  }
  writeFileSync(chartFile, chart(measurements));
  print(`\nThe chart is in ${chartFile}.`);
  await proxy.close();
  await stop();
}

await main();
