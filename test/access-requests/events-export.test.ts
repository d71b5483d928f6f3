import { describe, expect, test } from '@jest/globals';
import { newCommentSchema, newReviewSchema } from '../../lib/access-requests/new-event.ts';
import { writeEvents } from '../support/many-events.ts';
import { operator, operatorWithFiles } from '../support/operator.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import type { StoreCall } from '../support/store-proxy.ts';

const own = await sharedServiceWithStore();
const { run, fileOf, importFile } = operatorWithFiles(own.running);

const exported = (id: number, ...flags: string[]) =>
  run('events', 'export', '--access-request', String(id), ...flags);
const linesOf = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));
const newAccessRequest = async (): Promise<number> =>
  (await own.service.createAccessRequest()).body.id;

/** An access request with 250 events and one with a text that breaks lines. */
const id = await newAccessRequest();
await writeEvents(own.dynamoDb, own.tableName, id, [1, 250], new Map());
const comment = 'Ключ 🔑 "quoted"\n\\ and {"access_request_id":1}\u2028';
await own.service.addEvent(
  'comments',
  { actor_type: 'custom', actor_id: 'a\\"b', comment },
  { id },
);

describe('operator events export --access-request ID', () => {
  test('prints every event as the search shows it, one JSON object per line, in ascending order', async () => {
    const { code, stdout, stderr } = await exported(id);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const pages = await Promise.all(
      [1, 2, 3].map((page) => own.service.search(`?page_size=100&page=${page}`, { id })),
    );
    expect(linesOf(stdout)).toEqual(pages.flatMap(({ body }) => body.results));
  });

  test('prints CSV with --format csv for Excel: UTF-8 with its mark, CRLF, quoted, and no formula', async () => {
    const id = await newAccessRequest();
    const actor = { actor_type: 'custom', actor_id: 'a,b' };
    await own.service.addEvent('comments', { ...actor, comment: '=1+1 "x"\ny' }, { id });
    const { body } = await own.service.addEvent(
      'reviews',
      { ...actor, status: 'approved' },
      { id },
    );
    const [first] = (await own.service.search('', { id })).body.results;
    const at = ({ created_at, updated_at }: typeof body) => `"${created_at}","${updated_at}"`;
    expect((await exported(id, '--format', 'csv')).stdout).toBe(
      [
        '\ufeffid,access_request_id,type,actor_type,actor_id,status,counts,comment,created_at,updated_at',
        `"1","${id}","comment","custom","a,b","","","'=1+1 ""x""\ny",${at(first)}`,
        `"2","${id}","review","custom","a,b","approved","","",${at(body)}`,
        '',
      ].join('\r\n'),
    );
  });

  test('its bytes begin with the mark of UTF-8, once, and each row ends with CRLF', async () => {
    const id = await newAccessRequest();
    const event = { actor_type: 'custom', actor_id: 'Zoë', comment: 'Ключ 🔑' };
    for (const _ of [1, 2]) await own.service.addEvent('comments', event, { id });
    const bytes = Buffer.from((await exported(id, '--format', 'csv')).stdout);
    expect(bytes.subarray(0, 5).toString('hex')).toBe('efbbbf6964');
    expect(bytes.indexOf('efbbbf', 3, 'hex')).toBe(-1);
    expect(bytes.toString().match(/\r\n/g)).toHaveLength(3);
    expect(bytes.toString()).not.toMatch(/[^\r]\n/);
    expect(bytes.includes('"Zoë","","","Ключ 🔑"')).toBe(true);
  });

  test('on a terminal, CSV has neither the mark nor carriage returns', async () => {
    const atTerminal = operator.at(own.running.directory, '');
    const words = ['--access-request', String(await newAccessRequest()), '--format', 'csv'];
    const { stdout } = await atTerminal('events', 'export', ...words, '--local');
    expect(stdout).toMatch(/^id,access_request_id,[a-z_,]+\n$/);
  });

  test.each([
    ['after a semicolon, at which some spreadsheets begin a cell', 'a;=1+1; -2', "a;'=1+1;' -2"],
    ['after a tab', 'a\t@SUM(1)', "a\t'@SUM(1)"],
    ['after line breaks', 'a\n+1\r\n=1', "a\n'+1\r\n'=1"],
    ['after spaces', '  =1+1', "'  =1+1"],
    ['of full-width signs', '＝1;＋1;－1;＠1', "'＝1;'＋1;'－1;'＠1"],
    ['after white space that is cut off', '\n\tx', "'\n\tx"],
    ['that is none', 'a=1, b-2 (c@d.example); e', 'a=1, b-2 (c@d.example); e'],
  ])('a formula %s is no formula in CSV', async (_, comment, written) => {
    const id = await newAccessRequest();
    await own.service.addEvent(
      'comments',
      { actor_type: 'custom', actor_id: 'a', comment },
      { id },
    );
    expect((await exported(id, '--format', 'csv')).stdout).toContain(`,"${written}",`);
  });

  test('what it prints can be imported: the same events with the same times in another access request', async () => {
    const { stdout } = await exported(id);
    const other = await newAccessRequest();
    const moved = stdout.replaceAll(`"access_request_id":${id},`, `"access_request_id":${other},`);
    const { summary } = await importFile('events', fileOf(moved));
    expect(summary).toMatchObject({ lines: 251, added: 251, refused: 0 });
    const copies = linesOf((await exported(other)).stdout);
    expect(copies).toEqual(
      linesOf(stdout).map((event) => ({ ...event, access_request_id: other })),
    );
  });

  test.each([['comments', newCommentSchema] as const, ['reviews', newReviewSchema] as const])(
    'every field that the author of %s may send is stored, shown, exported and imported',
    async (path, schema) => {
      const [from, to] = [await newAccessRequest(), await newAccessRequest()];
      const values: Record<
        keyof typeof newReviewSchema.entries | keyof typeof newCommentSchema.entries,
        string
      > = {
        type: path.slice(0, -1),
        actor_type: 'custom',
        actor_id: 'somebody',
        comment: 'Fine.',
        status: 'approved',
      };
      const accepted = Object.entries(values).filter(([name]) =>
        Object.hasOwn(schema.entries, name),
      );
      const { type, ...body } = Object.fromEntries(accepted);
      await own.service.addEvent(path, body, { id: from });
      expect((await own.service.search('', { id: from })).body.results).toMatchObject([
        { type, ...body },
      ]);
      const { stdout } = await exported(from);
      expect(linesOf(stdout)).toMatchObject([{ type, ...body }]);
      const moved = stdout.replace(`"access_request_id":${from},`, `"access_request_id":${to},`);
      await importFile('events', fileOf(moved));
      expect(linesOf((await exported(to)).stdout)).toMatchObject([{ type, ...body }]);
    },
  );

  test('--after-event leaves out the events up to that id', async () => {
    const { stdout } = await exported(id, '--after-event', '249');
    expect(linesOf(stdout).map((event) => event.id)).toEqual([250, 251]);
    expect(await exported(id, '--after-event', '251')).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test('stopped in the middle, it says how to get the rest', async () => {
    let queries = 0;
    const failLater = ({ operation }: StoreCall) =>
      operation === 'Query' && ++queries > 2 ? 'fails before' : undefined;
    const { code, stdout, stderr } = await own.proxy.during(failLater, () => exported(id));
    expect({ code, events: linesOf(stdout).length }).toEqual({ code: 1, events: 200 });
    expect(stderr).toMatch(
      /^The output is incomplete\. Run the command again with --after-event 200 for the rest\. .+\n$/,
    );
    expect(linesOf((await exported(id, '--after-event', '200')).stdout)).toHaveLength(51);
  });

  test.each([
    [['--access-request', '999999999'], 'There is no such access request.'],
    [[], 'events export: --access-request is missing.'],
  ])('%j is an error', async (flags, why) => {
    const { code, stdout, stderr } = await run('events', 'export', ...flags);
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: `${why}\n` });
  });
});
