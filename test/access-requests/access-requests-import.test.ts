import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { createAccount } from '../support/login-app.ts';
import { linesByReason, operatorWithFiles } from '../support/operator.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { failing, isWrite, type StoreCall } from '../support/store-proxy.ts';

const { running, service, proxy } = await sharedServiceWithStore();
const { operate } = service;
const { folder, fileOf, importFile: importOf } = operatorWithFiles(running);

/** An account, and the command that imports a file for it. */
async function newImporter() {
  const account = await createAccount(service);
  const accessRequests = async () => {
    const { access_requests } = await operate('access-requests', 'list', {
      account: account.account_id,
    });
    return (access_requests as { access_request_id: number }[]).map(
      ({ access_request_id: id }) => id,
    );
  };
  const importFile = (file: string, ...more: string[]) =>
    importOf('access-requests', file, '--account', account.account_id, ...more);
  return { account, accessRequests, importFile };
}

test('the fields of a line are kept, its reviews decide, and it is listed at once', async () => {
  const { account, importFile } = await newImporter();
  const fields = { title: 'Old', reference: 'case-1', approvals_needed: 1 };
  const requested_by = { actor_type: 'custom', actor_id: 'ann' };
  const lines = [
    { id: 1, ...fields, requested_by, self_review: false, expires_at: '2999-01-01T00:00:00Z' },
    { id: 2, expires_at: '2020-01-01T00:00:00Z' },
    { id: 3, reference: 'case-1' },
    { id: 4, approvals_needed: 11 },
    { id: 5, self_review: false },
  ];
  const { summary } = await importFile(fileOf(lines));
  expect(summary).toMatchObject({ added: 2, refused: 3 });
  const { body } = await service.accessRequests('?order=oldest', account);
  expect(body.results).toMatchObject([
    { ...fields, requested_by, self_review: false, decision: 'pending' },
    { decision: 'expired', decided_at: '2020-01-01T00:00:00.000Z' },
  ]);
  const [{ id }] = body.results;
  const review = {
    access_request_id: id,
    type: 'review',
    actor_type: 'custom',
    status: 'approved',
  };
  const reviews = [
    { ...review, actor_id: 'ann' },
    { ...review, actor_id: 'bob', created_at: '2024-05-02T08:00:00Z' },
  ];
  await importOf('events', fileOf(reviews));
  expect((await service.search('', { id, account })).body.results[0]).toMatchObject({
    counts: false,
  });
  expect((await service.accessRequests('?decision=approved', account)).body).toMatchObject({
    results: [{ id, approvals: 1, decided_at: '2024-05-02T08:00:00.000Z' }],
  });
});

test('an id that comes again after a refused line is imported under an id that nobody else gets', async () => {
  const { account, importFile } = await newImporter();
  const file = fileOf([{ id: 1, reference: 'case-2' }, { id: 2, reference: 'case-2' }, { id: 2 }]);
  expect((await importFile(file)).summary).toMatchObject({ added: 2, refused: 1 });
  expect((await service.createAccessRequest({ account })).status).toBe(201);
});

test('--dry-run says what an import would do, and writes neither an access request nor a map of ids', async () => {
  const { account, importFile } = await newImporter();
  const taken = unique('case');
  await importFile(fileOf([{ id: 1, reference: taken }]));
  const mapFile = join(folder, unique('ids'));
  const file = fileOf([
    { id: 1 },
    { id: 2, more: 1 },
    { id: 3, reference: taken },
    { id: 4, title: 1 },
  ]);
  const writes: StoreCall[] = [];
  proxy.hook = (call) => {
    if (isWrite(call)) writes.push(call);
    return undefined;
  };
  const dry = await importFile(file, '--dry-run', '--ids-to', mapFile);
  expect(writes).toEqual([]);
  expect(existsSync(mapFile)).toBe(false);
  const real = await importFile(file);
  expect(dry).toEqual(real);
  expect(dry).toMatchObject({
    code: 2,
    summary: {
      added: 1,
      already_there: 1,
      refused: 2,
      ignored_fields: [{ field: 'more', lines: 1 }],
    },
  });
  const { body } = await service.accessRequests('', account);
  expect(body.results).toHaveLength(2);
});

const done = (counts: object) => ({
  code: 0,
  stderr: '',
  summary: { refused: 0, reasons: [], already_there: 0, ...counts },
});

describe('moving from another system takes two commands', () => {
  test('access-requests import writes a map of ids, and events import reads it', async () => {
    const { account, importFile } = await newImporter();
    const requests = fileOf([{ id: 17, created_at: '2024-05-02T08:00:00Z' }, { id: 'AR-9' }]);
    const map = join(folder, 'map');
    expect(await importFile(requests, '--ids-to', map)).toEqual(
      done({ lines: 2, added: 2, ids_file: map }),
    );
    const [first, second] = readFileSync(map, 'utf8').trim().split('\n');
    const { id, access_request_id: moved } = JSON.parse(first ?? '');
    expect({ id, second }).toEqual({ id: '17', second: expect.stringContaining('"id":"AR-9"') });
    expect(await operate('access-requests', 'show', { 'access-request': moved })).toMatchObject({
      created_at: '2024-05-02T08:00:00.000Z',
      accounts: [{ account_id: account.account_id }],
    });
    const found = { account: account.account_id, 'imported-id': '17' };
    expect(await operate('access-requests', 'find', found)).toMatchObject({
      access_request_id: moved,
    });

    const event = { type: 'comment', actor_type: 'custom', actor_id: '7', comment: 'x' };
    const events = fileOf([
      { access_request_id: 17, ...event },
      { access_request_id: 'AR-9', ...event },
      { access_request_id: 18, ...event },
      'no json',
    ]);
    const importEvents = () => importOf('events', events, '--ids-from', map);
    const reasons = [
      { reason: 'The map of ids lacks its access_request_id.', count: 1, lines: [3] },
      { reason: 'The line is not JSON.', count: 1, lines: [4] },
    ];
    const counts = { lines: 4, refused: 2, reasons };
    expect(await importEvents()).toEqual({
      code: 2,
      stderr: '',
      summary: { ...counts, added: 2, already_there: 0 },
    });
    expect((await importEvents()).summary).toEqual({ ...counts, added: 0, already_there: 2 });
    const { body } = await service.search('', { account, id: moved });
    expect(body.results).toMatchObject([{ comment: 'x' }]);
  });

  test('run again, it creates nothing and writes the same map', async () => {
    const { accessRequests, importFile } = await newImporter();
    const file = fileOf([{ id: 1 }, { id: 2 }, { id: 1 }]);
    const [map, other] = [join(folder, 'again-map'), join(folder, 'again-map-2')];
    const first = { lines: 3, added: 2, already_there: 1, ids_file: map };
    expect(await importFile(file, '--ids-to', map)).toEqual(done(first));
    const ids = await accessRequests();
    const second = { lines: 3, added: 0, already_there: 3, ids_file: other };
    expect(await importFile(file, '--ids-to', other)).toEqual(done(second));
    expect(await accessRequests()).toEqual(ids);
    expect(readFileSync(other, 'utf8')).toBe(readFileSync(map, 'utf8'));
  });

  test('run again, it gives back no access that was revoked', async () => {
    const { account, accessRequests, importFile } = await newImporter();
    const file = fileOf([{ id: 1 }, { id: 2 }]);
    await importFile(file);
    const [revoked = 0, kept] = await accessRequests();
    await operate('access-requests', 'revoke', {
      'access-request': revoked,
      account: account.account_id,
    });
    expect(await importFile(file)).toEqual(done({ lines: 2, added: 0, already_there: 2 }));
    expect(await accessRequests()).toEqual([kept]);
    expect((await service.search('', { account, id: revoked })).status).toBe(403);
    // The operator can give it back.
    await operate('access-requests', 'grant', {
      'access-request': revoked,
      account: account.account_id,
    });
    await importFile(file);
    expect((await service.search('', { account, id: revoked })).status).toBe(200);
  });

  test.each(['fails before', 'fails after'] as const)(
    'when a write %s, whichever it is, running it again finishes it without a duplicate',
    async (fault) => {
      const file = fileOf([{ id: 1 }, { id: 2 }]);
      for (let number = 0, isDone = false; !isDone; number += 1) {
        const { accessRequests, importFile } = await newImporter();
        const { happened } = await failing(proxy, [number, fault], () => importFile(file), isWrite);
        isDone = !happened;
        expect((await importFile(file)).code).toBe(0);
        expect(await accessRequests()).toHaveLength(2);
      }
    },
  );

  test('two at once make one access request of each id', async () => {
    const { accessRequests, importFile } = await newImporter();
    const file = fileOf([{ id: 1 }, { id: 2 }, { id: 3 }]);
    const runs = await Promise.all([importFile(file), importFile(file)]);
    expect(runs.map(({ summary }) => summary.added).reduce((a, b) => a + b)).toBe(3);
    expect(await accessRequests()).toHaveLength(3);
  });

  test('lines that are wrong are named, the others are imported: exit code 2', async () => {
    const { importFile } = await newImporter();
    const file = fileOf([{}, { id: '' }, 'x', { id: 1, created_at: 'today' }, { id: 1 }]);
    const { code, summary } = await importFile(file);
    const id = 'id must be an integer or a string of 1 to 200 characters.';
    const time =
      'created_at must be an RFC 3339 time of a real calendar date, such as 2024-05-02T08:00:00Z.';
    expect(code).toBe(2);
    expect(summary).toMatchObject({ lines: 5, added: 1, already_there: 0, refused: 4 });
    expect(linesByReason(summary)).toEqual({
      'id is required.': [1],
      [id]: [2],
      'The line is not JSON.': [3],
      [time]: [4],
    });
  });

  test('a title on several lines is on one, null is no value, and a placeholder is no id', async () => {
    const { account, importFile } = await newImporter();
    const placeholders = [{ id: 'undefined' }, { id: 5, reference: 'null' }];
    const titled = { id: 6, title: ' Access to\r\nthe vault\t', reference: null, expires_at: null };
    const { summary } = await importFile(fileOf([...placeholders, titled]));
    expect(linesByReason(summary)).toEqual({
      'id is a placeholder for a missing value, such as null.': [1],
      'reference is a placeholder for a missing value, such as null.': [2],
    });
    const { body } = await service.accessRequests('', account);
    expect(body.results).toMatchObject([{ title: 'Access to the vault' }]);
    const [{ id }] = body.results;
    const event = {
      access_request_id: id,
      type: 'review',
      actor_type: 'custom',
      status: 'approved',
    };
    const events = [
      { ...event, actor_id: 'undefined' },
      { ...event, actor_id: 'risk-desk', comment: null },
    ];
    const imported = await importOf('events', fileOf(events));
    expect(imported.summary).toMatchObject({ added: 1, refused: 1 });
    expect(linesByReason(imported.summary)).toEqual({
      'actor_id is a placeholder for a missing value, such as null.': [1],
    });
  });

  test('a symbolic link in the place of a map is followed nowhere, and nothing is imported', async () => {
    const { accessRequests, importFile } = await newImporter();
    const [target, missing] = [join(folder, 'target'), join(folder, 'missing')];
    writeFileSync(target, '');
    for (const named of [target, missing]) {
      const link = `${named}-link`;
      symlinkSync(named, link);
      expect(await importFile(fileOf([{ id: 1 }]), '--ids-to', link)).toMatchObject({
        code: 1,
        stderr: `--ids-to: the file ${link} is a symbolic link: name the file itself.\n`,
      });
    }
    expect([readFileSync(target, 'utf8'), existsSync(missing)]).toEqual(['', false]);
    expect(await accessRequests()).toEqual([]);
  });

  test('a map that cannot be written is named before anything is imported', async () => {
    const { accessRequests, importFile } = await newImporter();
    const nowhere = join(folder, 'no-folder', 'map');
    expect(await importFile(fileOf([{ id: 1 }]), '--ids-to', nowhere)).toMatchObject({
      code: 1,
      stderr: `--ids-to: the file ${nowhere} cannot be written.\n`,
    });
    expect(await accessRequests()).toEqual([]);
  });

  test('a file that is no map of ids stays as it is, and nothing is imported', async () => {
    const { accessRequests, importFile } = await newImporter();
    const file = fileOf([{ id: 1 }]);
    const mine = fileOf(['my notes']);
    expect(await importFile(file, '--ids-to', mine)).toMatchObject({
      code: 1,
      stderr: `--ids-to: the file ${mine} is no map of ids.\n`,
    });
    expect(readFileSync(mine, 'utf8')).toBe('my notes');
    expect(await accessRequests()).toEqual([]);
  });
});
