import { writeEvents } from '../support/many-events.ts';
import { startOwnTable } from '../support/own-table.ts';
import { startStoreProxy } from '../support/store-proxy.ts';

const sizes = [10, 100, 1_000, 10_000, 100_000];
const repetitions = 31;
const pageSize = 8;
const filters = [
  ['no filter', {}],
  ['actor_type', { actor_type: 'custom' }],
  ['actor_id', { actor_id: 'actor-3' }],
  ['both', { actor_type: 'custom', actor_id: 'actor-3' }],
  ['the reviews', { type: 'review' }],
] as const;

const row = (...cells: (string | number)[]) => process.stdout.write(`| ${cells.join(' | ')} |\n`);

/** Measures how many store requests, read units and milliseconds a search takes, over more and more events. */
async function main(): Promise<void> {
  const { url, dynamoDb, tableName, stop } = await startOwnTable();
  const proxy = await startStoreProxy(url);
  process.env.AWS_ENDPOINT_URL_DYNAMODB = proxy.url;
  const { createAccessRequest } = await import('../../lib/access-requests/make-access-request.ts');
  const { searchEvents } = await import('../../lib/access-requests/search-events.ts');
  const { access_request_id } = await createAccessRequest('ac_bench');

  const search = { access_request_id, page_size: pageSize, order: 'asc' as const };

  /** One page, searched again and again; the median of the milliseconds. */
  const measure = async (filter: object, page: number) => {
    const times: number[] = [];
    for (let run = 0; run < repetitions; run += 1) {
      proxy.forget();
      const startedAt = performance.now();
      await searchEvents('ac_bench', { ...search, ...filter, page });
      times.push(performance.now() - startedAt);
    }
    const units = proxy.calls().reduce((sum, call) => sum + call.units, 0);
    const median = times.toSorted((a, b) => a - b)[Math.floor(repetitions / 2)] ?? 0;
    return { requests: proxy.calls().length, units, median };
  };

  row('Events', 'Filter', 'Store requests', 'Read units', 'ms: first page', 'middle', 'last');
  row('--:', '---', '--:', '--:', '--:', '--:', '--:');
  const lengths = new Map<string, number>();
  let written = 0;
  for (const events of sizes) {
    await writeEvents(dynamoDb, tableName, access_request_id, [written + 1, events], lengths);
    written = events;
    // Unmeasured, so that the first sizes are not charged for what the engine is still compiling.
    if (events === sizes[0]) for (let run = 0; run < 20; run += 1) await measure({}, 1);
    for (const [name, filter] of filters) {
      const request = { ...search, ...filter, page: 1 };
      const { total } = await searchEvents('ac_bench', request);
      const last = Math.max(1, Math.ceil(total / pageSize));
      const pages: Awaited<ReturnType<typeof measure>>[] = [];
      for (const page of [1, Math.ceil(last / 2), last]) pages.push(await measure(filter, page));
      const most = (of: 'requests' | 'units') => Math.max(...pages.map((page) => page[of]));
      const medians = pages.map(({ median }) => median.toFixed(1));
      row(events.toLocaleString('en'), name, most('requests'), most('units'), ...medians);
    }
  }
  await proxy.close();
  await stop();
}

await main();
