import { describe, expect, test } from '@jest/globals';
import { generateKeyPair, SignJWT } from 'jose';
import { documentedFetch } from '../support/loaded-once.ts';
import { asAccount, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { proxy, running, service } = await sharedServiceWithStore();
const { addEvent, createAccessRequest, demo, search } = service;
const account = asAccount(demo.account).authorization;
const id = (await createAccessRequest()).body.id;
await addEvent('comments', { actor_type: 'custom', actor_id: 'a', comment: 'x' }, { id });

/** A well-formed access token, signed with a key of the attacker's. */
async function forged(): Promise<string> {
  const { privateKey } = await generateKeyPair('ES256');
  return new SignJWT({ token_use: 'login_app', client_id: 'x', jti: 'x' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: unique('k') })
    .setIssuer(demo.base_url)
    .setAudience('x')
    .setSubject('x')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey);
}

test('[RFC 8725 3.10] fifty made-up key ids cause one read at most in ten seconds, and no right token fails meanwhile', async () => {
  const good = await service.loginAppToken();
  const device = { platform: 'android', token: unique('phone') };
  expect((await service.register(device, good)).status).toBe(201);
  const present = async (count: number): Promise<number> => {
    const tokens = await Promise.all(Array.from({ length: count }, forged));
    proxy.forget();
    for (const token of tokens) expect((await service.register(device, token)).status).toBe(401);
    return proxy.calls().length;
  };
  running.advance(11);
  expect(await present(50)).toBe(1);
  expect(await present(50)).toBe(0);
  expect((await service.register(device, good)).status).toBe(200);
  running.advance(11);
  expect(await present(1)).toBe(1);
  running.advance(5);
  expect(await present(1)).toBe(0);
  running.advance(6);
  expect(await present(50)).toBe(1);
});

/** What would change a condition, an expression or a key, if it were pasted into one. */
const injections = [
  'a OR attribute_exists(pk)',
  ':actor',
  '#pk',
  'a#EVENT#000000000001',
  'ACCESS_REQUEST#1',
  "a' OR '1'='1",
  '{"$ne":null}',
  '{"S":"a"}',
  '[object Object]',
  'a\0',
  '\0',
  '*',
];

describe('text that means something to a store is text', () => {
  test.each(injections)(
    '[CWE-943] %j as the actor of a search finds nobody else’s events',
    async (text) => {
      const query = `?${new URLSearchParams({ actor_type: 'custom', actor_id: text })}`;
      const { status, body } = await search(query, { id });
      expect(status === 400 || (status === 200 && body.total === 0)).toBe(true);
    },
  );

  test('[CWE-943] as an actor it is found under exactly this name', async () => {
    const { id } = (await createAccessRequest()).body;
    for (const actor_id of injections.filter((text) => !text.includes('\0'))) {
      const event = { actor_type: 'custom', actor_id, comment: actor_id };
      expect((await addEvent('comments', event, { id })).body).toMatchObject({
        actor_id,
        comment: actor_id,
      });
      const { body } = await search(`?${new URLSearchParams({ actor_id })}`, { id });
      expect([body.total, body.results[0].actor_id]).toEqual([1, actor_id]);
    }
  });

  test('[CWE-943] as an Idempotency-Key it is the key of this account alone', async () => {
    for (const key of injections.filter((text) => !text.includes('\0'))) {
      const headers = { 'idempotency-key': key };
      const [mine, theirs] = await Promise.all([
        createAccessRequest({ headers }),
        createAccessRequest({ headers, account: demo.other_account }),
      ]);
      expect(mine.body.id).not.toBe(theirs.body.id);
    }
  });
});

describe('what changes a prototype changes nothing', () => {
  test.each([
    '{"__proto__":{"actor_type":"custom","actor_id":"a","comment":"x"}}',
    '{"constructor":{"prototype":{"actor_type":"custom"}},"actor_id":"a","comment":"x"}',
    '{"a":{"__proto__":{"comment":"polluted"}},"actor_type":"custom","actor_id":"a"}',
  ])('[CVE-2019-10744] %s in JSON', async (body) => {
    expect((await addEvent('comments', body, { id })).status).toBe(400);
    // Had it changed the prototype of all objects, this would have the fields that it lacks.
    expect((await addEvent('comments', {}, { id })).status).toBe(422);
  });
});

describe('a body that is made to cost', () => {
  const deep = (depth: number) => `{"actor_type":${'['.repeat(depth)}${']'.repeat(depth)}}`;

  test.each<[string, string, string]>([
    ['CWE-674', 'a hundred thousand lists in each other', deep(100_000)],
    [
      'CWE-400',
      'twenty thousand fields',
      `{${Array.from({ length: 20_000 }, (_, i) => `"f${i}":0`).join()}}`,
    ],
    ['CWE-1333', 'a time of many digits', `{"actor_type":"${'1'.repeat(50_000)}"}`],
  ])('[%s] %s: 400 or 422, and nothing is written', async (_source, _what, body) => {
    proxy.forget();
    // Not with the tests' client, which looks into what it sends.
    const { status } = await documentedFetch(
      `${demo.base_url}/v1/rbac/access_requests/${id}/comments`,
      {
        method: 'POST',
        headers: { authorization: account, 'content-type': 'application/json' },
        body,
      },
    );
    expect([400, 422]).toContain(status);
    expect(proxy.calls().filter(({ operation }) => operation !== 'GetItem')).toEqual([]);
  });
});
