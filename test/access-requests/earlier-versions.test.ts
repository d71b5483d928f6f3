import { afterEach, describe, expect, test } from '@jest/globals';
import * as keys from '../../lib/storage/keys.ts';
import { itemAt, itemsAbout, removeAttribute, removeItem } from '../support/items-about.ts';
import { createAccount } from '../support/login-app.ts';
import { writeItems } from '../support/many-events.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const own = await sharedServiceWithStore();
const { running, service } = own;
const { operate } = service;
afterEach(() => running.resetClock());

type Account = Awaited<ReturnType<typeof createAccount>>;
const review = (actor_id: string) => ({ actor_type: 'custom', actor_id, status: 'approved' });
const lineOf = (content: object) => [{ line: 1, text: JSON.stringify(content), repetition: 0 }];
const found = async (query: string, account: Account) =>
  (await service.accessRequests(query, account)).body.results.map(({ id }: { id: number }) => id);

/** Takes away what an interrupted creation of 1.0.0 had not written yet. */
async function leaveUndone(id: number, { account_id }: Account, what: 'access' | 'everything') {
  await removeItem(own, keys.accessKey(id, account_id));
  await removeItem(own, keys.listEntryKey(account_id, id));
  if (what === 'everything') await removeItem(own, keys.accessRequestKey(id));
}

describe('what 1.0.0 left half-done is finished by whoever repeats it', () => {
  test.each(['access', 'everything'] as const)(
    'a creation with a key, but without %s',
    async (what) => {
      const account = await createAccount(service);
      const options = { account, headers: { 'idempotency-key': unique('key') } };
      const { text, body } = await service.createAccessRequest(options);
      await leaveUndone(body.id, account, what);
      const answers = await Promise.all([1, 2, 3].map(() => service.createAccessRequest(options)));
      for (const answer of answers) expect(answer).toMatchObject({ status: 201, text });
      expect(await found('', account)).toEqual([body.id]);
    },
  );

  test('an import that remembers an access request, but gave no access', async () => {
    const account = await createAccount(service);
    const flags = { account: account.account_id, 'access-requests': lineOf({ id: 'AR-17' }) };
    const { ids } = await operate('access-requests', 'import', flags);
    const [{ access_request_id: id } = { access_request_id: 0 }] = ids as {
      access_request_id: number;
    }[];
    await leaveUndone(id, account, 'access');
    expect(await operate('access-requests', 'import', flags)).toMatchObject({
      added: 0,
      repeated: 1,
      ids,
    });
    expect(await found('', account)).toEqual([id]);
  });
});

describe('a review that 1.0.0 added beside this version', () => {
  /** An access request whose only review is not counted. */
  async function withUncounted(account: Account, fields: object): Promise<number> {
    const { id } = (await service.createAccessRequest({ account, body: fields })).body;
    const key = keys.accessRequestKey(id);
    await service.addEvent('reviews', review('ann'), { id, account });
    for (const attribute of ['decision', 'decided_at', 'approvers', 'reviews_counted'])
      await removeAttribute(own, key, attribute);
    await removeAttribute(own, keys.listEntryKey(account.account_id, id), 'review_ordinal');
    return id;
  }

  test('is counted by whoever shows the access request, and nothing is written', async () => {
    const account = await createAccount(service);
    const id = await withUncounted(account, { approvals_needed: 1 });
    const { body } = await service.accessRequests(`/${id}`, account);
    expect(body).toMatchObject({ decision: 'approved', approvals: 1 });
    expect(await itemAt(own, keys.accessRequestKey(id))).not.toHaveProperty('decision');
  });

  test('is counted with the next one', async () => {
    const account = await createAccount(service);
    const [id, decided] = [
      await withUncounted(account, { approvals_needed: 2 }),
      await withUncounted(account, { approvals_needed: 1 }),
    ];
    const second = await service.addEvent('reviews', review('bob'), { id, account });
    expect(second.body).not.toHaveProperty('counts');
    const late = await service.addEvent('reviews', review('bob'), { id: decided, account });
    expect(late.body).toMatchObject({ counts: false });
    expect(await found('?decision=approved', account)).toEqual([decided, id]);
  });

  test('is counted by access-requests index', async () => {
    const account = await createAccount(service);
    const id = await withUncounted(account, { approvals_needed: 1 });
    expect(await found('?decision=approved', account)).toEqual([]);
    let after: unknown;
    do {
      const page = await operate('access-requests', 'index', after === undefined ? {} : { after });
      after = page.next;
    } while (after !== undefined);
    expect(await found('?decision=approved', account)).toEqual([id]);
  });

  test('is counted when it expires', async () => {
    const account = await createAccount(service);
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const id = await withUncounted(account, { approvals_needed: 1, expires_at });
    running.advance(61);
    const { body } = await service.accessRequests(`/${id}`, account);
    expect(body).toMatchObject({ decision: 'approved' });
  });
});

test.each(['a review', 'its expiry'])(
  'an access request to which 1.0.0 gave 150 accounts access is shown, listed and decided: by %s',
  async (by) => {
    const account = await createAccount(service);
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const body = { approvals_needed: 1, expires_at };
    const { id } = (await service.createAccessRequest({ account, body })).body;
    const others = Array.from(
      { length: 149 },
      (_, place) => `ac_${String(place).padStart(22, '0')}`,
    );
    const granted_at = new Date().toISOString();
    const accesses = others.map((account_id) => ({
      ...keys.accessKey(id, account_id),
      ...{ access_request_id: id, account_id, granted_at },
    }));
    await writeItems(own.dynamoDb, own.tableName, accesses);
    const last = await createAccount(service);
    const grant = { 'access-request': id, account: last.account_id };
    await expect(operate('access-requests', 'grant', grant)).rejects.toThrow(/50 accounts/);
    if (by === 'a review') await service.addEvent('reviews', review('ann'), { id, account });
    else {
      running.advance(61);
      await service.runSchedule();
    }
    const decision = by === 'a review' ? 'approved' : 'expired';
    const shown = await operate('access-requests', 'show', { 'access-request': id });
    expect(shown).toMatchObject({ decision, accounts: expect.any(Array) });
    expect(shown.accounts).toHaveLength(150);
    expect(await found(`?decision=${decision}`, account)).toEqual([id]);
    const entries = await itemsAbout(own, `"${decision}#${String(id).padStart(16, '0')}"`);
    expect(entries).toHaveLength(150);
  },
);
