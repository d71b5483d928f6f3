import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { sessionKey } from '../../lib/storage/keys.ts';
import { removeItem } from '../support/items-about.ts';
import { createClient } from '../support/login-app.ts';
import { newPerson } from '../support/people.ts';
import { asPhone } from '../support/phone.ts';
import { asClient, type Service, sharedService, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { costOf } from '../support/store-proxy.ts';

const service = sharedService();
const { demo, logIn, refresh, token } = service;
const own = await sharedServiceWithStore();
const { login_app, other_login_app } = demo;

const rejected = {
  status: 400,
  body: {
    error: 'invalid_grant',
    error_description: 'The refresh token is not valid for this client.',
  },
};

/** Another client of the same Login App, and one of another. */
const otherClients = async () => [
  await createClient(service, login_app.login_app_id),
  other_login_app,
];

/** Whether a session goes on, as its own person notices it. */
const isAlive = async (access_token: string): Promise<boolean> =>
  (await service.listDevices(access_token)).status === 200;

/** Of a phone, the thief has the key, too: malware on it does. */
describe.each<[string, Service]>([
  ['a confidential client', own.service],
  ['a phone', await asPhone(own.service)],
])('a stolen refresh token of %s', (_, { logIn, refresh, listDevices, ...of }) => {
  const isAlive = async (token: string) => (await listDevices(token)).status === 200;

  test('[RFC 9700 4.14.2] used by the thief first: when the victim uses it, the session ends for both', async () => {
    const stolen = (await logIn(unique('alice'))).body;
    const first = (await refresh(stolen.refresh_token)).body;
    const second = (await refresh(first.refresh_token)).body;
    expect(await refresh(stolen.refresh_token)).toMatchObject(rejected);
    expect(await refresh(second.refresh_token)).toMatchObject(rejected);
    expect(await isAlive(second.access_token)).toBe(false);
  });

  test('[RFC 9700 4.14.2] used by the victim first: when the thief uses it, the session ends for both', async () => {
    const stolen = (await logIn(unique('alice'))).body;
    let current = stolen;
    for (let times = 0; times < 3; times++) current = (await refresh(current.refresh_token)).body;
    expect(await refresh(stolen.refresh_token)).toMatchObject(rejected);
    expect(await isAlive(current.access_token)).toBe(false);
  });

  test('[RFC 9700 4.14.2] used by both in turns: the third generation ends the session for both', async () => {
    const person = await newPerson({ logIn, refresh, listDevices, ...of });
    const use = async (refresh_token: string) => {
      own.running.advance(300);
      return refresh(refresh_token);
    };
    const statuses: number[] = [];
    let [victims, stolen, accessToken] = [person.refreshToken, person.refreshToken, person.token];
    for (let turn = 0; turn < 3; turn++) {
      const { body } = await use(victims);
      const { status, body: thiefs } = await use(stolen);
      statuses.push(status);
      [victims, stolen, accessToken] = [
        body.refresh_token,
        thiefs.refresh_token,
        body.access_token,
      ];
    }
    expect(statuses).toEqual([200, 200, 400]);
    expect(await use(victims)).toMatchObject(rejected);
    expect((await listDevices(accessToken)).status).toBe(401);
    own.running.resetClock();
  });

  test('[RFC 9700 4.14.2] used by both at once: there is never a second line of tokens', async () => {
    const { refresh_token } = (await logIn(unique('alice'))).body;
    const next: string = (await refresh(refresh_token)).body.refresh_token;
    const answers = await Promise.all(Array.from({ length: 12 }, () => refresh(next)));
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
    expect(await refresh(refresh_token)).toMatchObject(rejected);
    expect(await refresh(answers[0]?.body.refresh_token)).toMatchObject(rejected);
  });
});

describe('a stolen refresh token', () => {
  test('[finding] asked about by a thief, who would come in time: no answer tells that the victim has refreshed', async () => {
    const { refreshToken } = await newPerson(own.service);
    const before = await own.service.introspect(refreshToken);
    own.running.advance(300);
    await own.service.refresh(refreshToken);
    expect((await own.service.introspect(refreshToken)).text).toBe(before.text);
    own.running.resetClock();
  });

  test('[RFC 6749 10.4] presented by another client, and the session goes on', async () => {
    const { refresh_token } = (await logIn(unique('alice'))).body;
    for (const client of await otherClients())
      expect(await refresh(refresh_token, client)).toMatchObject(rejected);
    expect((await refresh(refresh_token)).status).toBe(200);
  });

  test('[RFC 6749 10.4] with any bit changed', async () => {
    const { refresh_token } = (await logIn(unique('alice'))).body;
    const bytes = Buffer.from(refresh_token);
    const changed = Array.from({ length: bytes.length * 8 }, (_, bit) => {
      const copy = Buffer.from(bytes);
      const index = Math.floor(bit / 8);
      copy.writeUInt8(copy.readUInt8(index) ^ (1 << (bit % 8)), index);
      return copy.toString('latin1');
    });
    // Every 13th bit, and all of the last character: base64 has spare bits there.
    const chosen = changed.filter((_, bit) => bit % 13 === 0 || bit >= changed.length - 8);
    const errors = await Promise.all(chosen.map(async (one) => (await refresh(one)).body.error));
    expect(new Set(errors)).toEqual(new Set(['invalid_grant']));
    expect((await refresh(refresh_token)).status).toBe(200);
  });

  test.each<[string, (parts: string[], others: string[]) => string[]]>([
    ['a later generation', (parts) => parts.with(3, '7')],
    ['a generation that is no number', (parts) => parts.with(3, '1e3')],
    ['the person of another session', (parts, others) => parts.with(1, others[1] ?? '')],
    ['another session', (parts, others) => parts.with(2, others[2] ?? '')],
    ['the signature of another session', (parts, others) => parts.with(5, others[5] ?? '')],
    ['another key id', (parts) => parts.with(4, 'AAAAAAAA')],
    ['no signature', (parts) => parts.slice(0, 5)],
  ])('[RFC 6749 10.10] edited to %s', async (_, edit) => {
    const [mine, other] = await Promise.all([newPerson(service), newPerson(service)]);
    const edited = edit(mine.refreshToken.split('.'), other.refreshToken.split('.')).join('.');
    expect(await refresh(edited)).toMatchObject(rejected);
    expect((await refresh(mine.refreshToken)).status).toBe(200);
    expect((await refresh(other.refreshToken)).status).toBe(200);
  });

  test('[RFC 6749 3.2] sent twice in one form', async () => {
    const [mine, other] = await Promise.all([newPerson(service), newPerson(service)]);
    const form: [string, string][] = [
      ['grant_type', 'refresh_token'],
      ['refresh_token', mine.refreshToken],
      ['refresh_token', other.refreshToken],
    ];
    expect((await token(form)).body.error).toBe('invalid_request');
  });

  test('[RFC 9700 4.3.2] sent in the query', async () => {
    const { refreshToken } = await newPerson(service);
    const query = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: refreshToken });
    const answer = await service.form(
      `/v2/marketing/oauth/token?${query}`,
      {},
      asClient(login_app),
    );
    expect(answer.status).toBe(400);
  });

  test('[RFC 6749 6] refreshed for a wider scope', async () => {
    const { refreshToken } = await newPerson(service);
    const form = {
      grant_type: 'refresh_token',
      refresh_token: refreshToken,
      scope: 'login_app operator',
    };
    const { scope, token_use } = decodeJwt((await token(form)).body.access_token);
    expect([scope, token_use]).toEqual(['login_user', 'login_user']);
  });

  test('[RFC 7009 2.1] refreshed while its session is being ended', async () => {
    const { refreshToken } = await newPerson(service);
    const answers = await Promise.all([
      ...Array.from({ length: 4 }, () => refresh(refreshToken)),
      service.revoke(refreshToken),
      ...Array.from({ length: 4 }, () => refresh(refreshToken)),
    ]);
    for (const { body } of answers.filter(({ body }) => body.access_token !== undefined)) {
      expect(await isAlive(body.access_token)).toBe(false);
      expect((await refresh(body.refresh_token)).body.error).toBe('invalid_grant');
    }
  });
});

describe('a session of somebody else', () => {
  test('[RFC 7009 2.1] is not ended by another Login App', async () => {
    const person = await newPerson(service);
    for (const presented of [person.token, person.refreshToken]) {
      expect(await service.revoke(presented, other_login_app)).toMatchObject({
        status: 400,
        body: {
          error: 'invalid_request',
          error_description: 'The token was issued to another client.',
        },
      });
    }
    expect(await isAlive(person.token)).toBe(true);
  });

  test('[RFC 7662 4] is not described to another Login App, byte for byte as if it were none', async () => {
    const person = await newPerson(service);
    const unknown = await service.introspect('x', other_login_app);
    for (const presented of [person.token, person.refreshToken]) {
      const { status, text } = await service.introspect(presented, other_login_app);
      expect([status, text]).toEqual([unknown.status, unknown.text]);
    }
  });

  test.each(['introspect', 'revoke'])(
    '[RFC 7662 2.1] is nothing to %s for a token alone',
    async (action) => {
      const person = await newPerson(service);
      const headers = { authorization: `Bearer ${person.token}` };
      const answer = await service.form(
        `/v2/marketing/oauth/${action}`,
        { token: person.token },
        headers,
      );
      expect(answer.status).toBe(401);
      expect(await isAlive(person.token)).toBe(true);
    },
  );

  test('[CWE-384] is not chosen by who logs in', async () => {
    const victim = decodeJwt<{ sid: string }>((await newPerson(service)).token);
    const chosen = {
      sid: victim.sid,
      session_id: victim.sid,
      sub: victim.sub ?? '',
      login_user_id: victim.sub ?? '',
    };
    const sent = { ...(await service.loginForm('provider_f')), ...chosen };
    const claims = decodeJwt<{ sid: string }>((await token(sent)).body.access_token);
    expect([victim.sid, victim.sub]).not.toContain(claims.sid);
    expect(claims.sub).not.toBe(victim.sub);
  });
});

/**
 * Whoever has a token that the service signed was given it; what it costs tells them nothing that
 * the answer does not.
 */
describe('what a refresh token costs a client of another Login App', () => {
  const { proxy, running } = own;
  const attacker = own.service.demo.other_login_app;
  const send = {
    introspect: (token: string) => own.service.introspect(token, attacker),
    revoke: (token: string) => own.service.revoke(token, attacker),
    refresh: (refresh_token: string) => own.service.refresh(refresh_token, attacker),
  };

  /**
   * Answer and store calls for a live session, a removed one and an unsigned token, with the
   * attacker's app alone cached.
   */
  async function costsOf(action: keyof typeof send) {
    const [foreign, removed] = [await newPerson(own.service), await newPerson(own.service)];
    await removeItem(own, sessionKey(removed.loginUserId, removed.sessionId));
    const cost = async (token: string) => {
      running.advance(30);
      await send[action]('made-up');
      const { calls, ...answer } = await costOf(proxy, () => send[action](token));
      return { answer, calls: calls.map(({ operation }) => operation) };
    };
    return {
      foreign: await cost(foreign.refreshToken),
      removed: await cost(removed.refreshToken),
      dummy: await cost(foreign.refreshToken.replace(/.{43}$/, 'A'.repeat(43))),
    };
  }

  test.each([
    ['introspect', 200],
    ['refresh', 400],
  ] as const)(
    '[CWE-204] %s: the same answer as for any other; one read if it is signed, else none',
    async (action, status) => {
      const { foreign, removed, dummy } = await costsOf(action);
      expect(foreign.answer.status).toBe(status);
      expect([removed.answer, dummy.answer]).toEqual([foreign.answer, foreign.answer]);
      expect([foreign.calls, removed.calls, dummy.calls]).toEqual([
        ['BatchGetItem'],
        ['BatchGetItem'],
        [],
      ]);
    },
  );

  test('[RFC 7009 2.1] revoke: an error after one read if it is signed, else a success without any', async () => {
    const { foreign, dummy } = await costsOf('revoke');
    expect([foreign.answer.status, dummy.answer.status]).toEqual([400, 200]);
    expect([foreign.calls, dummy.calls]).toEqual([['GetItem'], []]);
  });
});
