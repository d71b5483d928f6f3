import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { problemsOfEvents } from '../support/check-events.ts';
import { linesByReason, operatorWithFiles } from '../support/operator.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { isWrite, type StoreCall } from '../support/store-proxy.ts';

const own = await sharedServiceWithStore();
const { run, fileOf, importFile } = operatorWithFiles(own.running);

const newAccessRequest = async (): Promise<number> =>
  (await own.service.createAccessRequest()).body.id;
const importLines = (lines: unknown[]) => importFile('events', fileOf(lines));
const all = async (id: number) => {
  const results: Record<string, unknown>[] = [];
  for (let page = 1; ; page += 1) {
    const { body } = await own.service.search(`?page_size=100&page=${page}`, { id });
    results.push(...body.results);
    if (body.count === 0) return results;
  }
};
const line = (access_request_id: number, number: number) => ({
  access_request_id,
  type: number % 3 === 0 ? 'review' : 'comment',
  actor_type: number % 2 === 0 ? 'custom' : 'login_user',
  actor_id: `${number % 5}`,
  comment: `event ${number}`,
  created_at: new Date(Date.UTC(2020, 0, 1) + number * 60_000).toISOString(),
  ...(number % 3 === 0 && { status: 'approved' }),
});

describe('operator events import FILE.ndjson', () => {
  test('adds every line in the order of the file, with the times that are given', async () => {
    const [first, second] = [await newAccessRequest(), await newAccessRequest()];
    const lines = Array.from({ length: 250 }, (_, number) =>
      line(number % 10 === 0 ? second : first, number),
    );
    expect(await importLines(lines)).toEqual({
      code: 0,
      stderr: '',
      summary: { lines: 250, added: 250, already_there: 0, refused: 0, reasons: [] },
    });
    for (const id of [first, second]) {
      const wanted = lines.filter(({ access_request_id }) => access_request_id === id);
      expect(await all(id)).toEqual(
        wanted.map((event, place) => ({ ...event, id: place + 1, updated_at: event.created_at })),
      );
      expect(await problemsOfEvents(own.dynamoDb, own.tableName, id)).toEqual([]);
    }
  });

  test('--dry-run says what an import would do, and writes nothing; ignored fields are named', async () => {
    const id = await newAccessRequest();
    await importLines([line(id, 1)]);
    const unknown = { ...line(999_999_999, 2) };
    const lines = [
      line(id, 1),
      line(id, 1),
      { ...line(id, 2), id: 7, author: 'ann' },
      unknown,
      { type: 1 },
    ];
    const file = fileOf(lines);
    const writes: StoreCall[] = [];
    own.proxy.hook = (call) => {
      if (isWrite(call)) writes.push(call);
      return undefined;
    };
    const dry = await importFile('events', file, '--dry-run');
    expect(writes).toEqual([]);
    expect(dry).toEqual(await importFile('events', file));
    const ignored_fields = [
      { field: 'id', lines: 1 },
      { field: 'author', lines: 1 },
    ];
    const counts = { lines: 5, added: 2, already_there: 1, refused: 2 };
    expect(dry).toMatchObject({ code: 2, summary: { ...counts, ignored_fields } });
  });

  test('run again, it adds what is new and doubles nothing; the same line twice is two events', async () => {
    const id = await newAccessRequest();
    const lines = [line(id, 1), line(id, 2), line(id, 1)];
    expect((await importLines(lines)).summary).toMatchObject({ added: 3, already_there: 0 });
    const more = [...lines, line(id, 1), line(id, 3)];
    expect((await importLines(more)).summary).toMatchObject({ added: 2, already_there: 3 });
    const texts = (await all(id)).map(({ comment }) => comment);
    expect(texts).toEqual(['event 1', 'event 2', 'event 1', 'event 1', 'event 3']);
  });

  test('a line ends at a line feed alone, and not at another line separator of Unicode', async () => {
    const id = await newAccessRequest();
    const comment = 'one\u2028two\u2029three';
    expect((await importLines([{ ...line(id, 1), comment }])).summary).toMatchObject({
      lines: 1,
      added: 1,
    });
    expect(await all(id)).toMatchObject([{ comment }]);
  });

  test('says which lines were rejected and why, adds the others, and ends with exit code 2', async () => {
    const id = await newAccessRequest();
    const { code, summary } = await importLines([
      '\ufeff',
      line(id, 1),
      '{"half',
      '[]',
      'null',
      { ...line(id, 2), actor_type: 'robot' },
      { ...line(id, 4), created_at: 'yesterday' },
      { ...line(id, 5), type: 'verdict' },
      line(999_999_999, 7),
      { ...line(id, 8), actor_id: '' },
      { ...line(id, 10), comment: 'a'.repeat(300_000) },
      line(id, 11),
      { ...line(id, 12), comment: 'bell \u0007' },
      { ...line(id, 13), access_request_id: 'AR-17' },
      {
        ...line(id, 14),
        access_request_id: 'AR-17',
        type: 'verdict',
        actor_type: 'robot',
        created_at: 1,
      },
    ]);
    expect(code).toBe(2);
    expect(summary).toMatchObject({ lines: 14, added: 2, already_there: 0, refused: 12 });
    expect(linesByReason(summary)).toEqual({
      'The line is not JSON.': [3],
      'The line must be a JSON object.': [4, 5],
      'actor_type must be login_user or custom.': [6],
      'created_at must be an RFC 3339 time of a real calendar date, such as 2024-05-02T08:00:00Z.':
        [7],
      'type must be comment or review.': [8],
      'There is no such access request.': [9],
      'actor_id must have 1 to 200 characters.': [10],
      'The line is longer than 250000 characters.': [11],
      'comment must be well-formed Unicode without control characters other than tab, line feed and carriage return.':
        [13],
      'access_request_id must be a number; --ids-from replaces the ids of another system.': [14],
      'access_request_id must be a number; --ids-from replaces the ids of another system. created_at must be a string. type must be comment or review. actor_type must be login_user or custom.':
        [15],
    });
    expect((await all(id)).map(({ comment }) => comment)).toEqual(['event 1', 'event 11']);
  });

  test('every RFC 3339 time is kept, in UTC and to the millisecond', async () => {
    const id = await newAccessRequest();
    const times = {
      '2020-01-31T10:00:00+02:00': '2020-01-31T08:00:00.000Z',
      '2024-02-29t23:59:59.9999z': '2024-02-29T23:59:59.999Z',
      '2024-12-31T23:59:59.5-00:30': '2025-01-01T00:29:59.500Z',
      '1985-04-12T23:20:50.52-00:00': '1985-04-12T23:20:50.520Z',
    };
    await importLines(Object.keys(times).map((created_at) => ({ ...line(id, 1), created_at })));
    expect((await all(id)).map(({ created_at }) => created_at)).toEqual(Object.values(times));
  });

  test('a line with any other time is reported, and the others are added', async () => {
    const id = await newAccessRequest();
    const times = `2024-01-01T00:00:00+02, 2024-01-01T00:00:00+0200, 2024-01-01T00:00:00+24:00,
      2024-02-31T00:00:00Z, 2023-02-29T00:00:00Z, 2024-13-01T00:00:00Z, 2024-00-10T00:00:00Z,
      2024-01-01T24:00:00Z, 2024-01-01T00:60:00Z, 2016-12-31T23:59:60Z, 2024-01-01T00:00:00.Z,
      2024-01-01 00:00:00Z, 2024-01-01T00:00Z, 2024-01-01T00:00:00, 2024-01-01,
      0000-01-01T00:00:00+00:01, 9999-12-31T23:59:59-00:01, +002024-01-01T00:00:00Z,`.split(/,\s*/);
    const lines = times.map((created_at) => ({ ...line(id, 1), created_at }));
    const { summary } = await importLines([
      ...lines,
      line(id, 2),
      { ...line(id, 4), updated_at: times[0] },
    ]);
    expect(summary).toMatchObject({ added: 1, refused: times.length + 1 });
    expect(summary.reasons).toMatchObject([
      {
        reason: expect.stringMatching(/^created_at must be an RFC 3339 time/),
        lines: times.map((_, i) => i + 1),
      },
      {
        reason: expect.stringMatching(/^updated_at must be an RFC 3339 time/),
        lines: [times.length + 2],
      },
    ]);
  });

  test('stopped in the middle, it says so, and continues when it is run again', async () => {
    const id = await newAccessRequest();
    const lines = Array.from({ length: 230 }, (_, number) => line(id, number));
    let puts = 0;
    const failPuts = ({ operation }: StoreCall) =>
      operation === 'PutItem' && ++puts > 140 ? 'fails before' : undefined;
    const { code, stderr, summary } = await own.proxy.during(failPuts, () => importLines(lines));
    expect({ code, summary }).toEqual({ code: 1, summary: undefined });
    expect(stderr).toMatch(
      /^The import stopped after 100 lines\. Run the command again to continue\. .+\n$/,
    );
    expect((await importLines(lines)).summary).toMatchObject({
      lines: 230,
      added: 90,
      already_there: 140,
    });
    expect((await all(id)).map(({ comment }) => comment)).toEqual(
      lines.map(({ comment }) => comment),
    );
    expect(await problemsOfEvents(own.dynamoDb, own.tableName, id)).toEqual([]);
  });

  test.each([
    [['events', 'import'], "missing required argument 'FILE.ndjson'. See --help."],
    [
      ['events', 'import', '--ids-from', '/nowhere', 'package.json'],
      '--ids-from: the file /nowhere cannot be read.',
    ],
    [['events', 'import', '/nowhere.ndjson'], 'The file /nowhere.ndjson cannot be read.'],
    [['events', 'import', 'docs'], `${resolve('docs')} is a folder, not a file.`],
  ])('%j is an error', async (words, why) => {
    const { code, stdout, stderr } = await run(...words);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: `${why}\n` });
  });
});

test('an import needs no more memory for many lines than for a few', async () => {
  const file = fileOf(Array.from({ length: 200_000 }, (_, number) => number));
  const send = `import { runImport } from './infra/operator/import-file.ts';
    const send = async (batch) => ({ added: 0, repeated: 0, refused: batch.map(({ line }) => ({ line, reason: 'No.' })) });
    console.log(JSON.stringify(await runImport({ file: process.argv[1], files: {} }, send, () => {})));`;
  const ran = promisify(execFile)(
    process.execPath,
    ['--max-old-space-size=24', '--input-type=module', '--eval', send, file],
    { env: { ...process.env, NODE_OPTIONS: '' } },
  );
  expect(JSON.parse((await ran).stdout)).toMatchObject({ lines: 200_000, refused: 200_000 });
}, 120_000);
