import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { createClient } from '../support/login-app.ts';
import { newPerson } from '../support/people.ts';
import { type Answer, basic, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { call, demo, listDevices, logIn, token } = service;
const { login_app, other_login_app } = demo;

const refresh = (refresh_token: string, client = login_app): Promise<Answer> =>
  token({ grant_type: 'refresh_token', refresh_token }, client);
const post = (action: string, form: Record<string, string>, client = login_app): Promise<Answer> =>
  call(`/v2/marketing/oauth/${action}`, {
    method: 'POST',
    headers: { authorization: basic(client.client_id, client.client_secret) },
    body: new URLSearchParams(form),
  });

const rejected = {
  status: 400,
  body: { error: 'invalid_grant', error_description: 'The refresh token is not valid for this client.' },
};

/** Another client of the same Login App, and one of another. */
const otherClients = async () => [await createClient(service, login_app.login_app_id), other_login_app];

/** Whether a session goes on, as its own person notices it. */
const isAlive = async (access_token: string): Promise<boolean> =>
  (await listDevices(access_token)).status === 200;

describe('a stolen refresh token', () => {
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

  test('[RFC 9700 4.14.2] used by both at once: there is never a second line of tokens', async () => {
    const { refresh_token } = (await logIn(unique('alice'))).body;
    const next: string = (await refresh(refresh_token)).body.refresh_token;
    const answers = await Promise.all(Array.from({ length: 12 }, () => refresh(next)));
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
    expect(await refresh(refresh_token)).toMatchObject(rejected);
    expect(await refresh(answers[0]?.body.refresh_token)).toMatchObject(rejected);
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
    expect((await post(`token?${query}`, {})).status).toBe(400);
  });

  test('[RFC 6749 6] refreshed for a wider scope', async () => {
    const { refreshToken } = await newPerson(service);
    const form = { grant_type: 'refresh_token', refresh_token: refreshToken, scope: 'login_app operator' };
    const { scope, token_use } = decodeJwt((await token(form)).body.access_token);
    expect([scope, token_use]).toEqual(['login_user', 'login_user']);
  });

  test('[RFC 7009 2.1] refreshed while its session is being ended', async () => {
    const { refreshToken } = await newPerson(service);
    const answers = await Promise.all([
      ...Array.from({ length: 4 }, () => refresh(refreshToken)),
      post('revoke', { token: refreshToken }),
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
      expect(await post('revoke', { token: presented }, other_login_app)).toMatchObject({
        status: 400,
        body: { error: 'invalid_request', error_description: 'The token was issued to another client.' },
      });
    }
    expect(await isAlive(person.token)).toBe(true);
  });

  test('[RFC 7662 4] is not described to another Login App, byte for byte as if it were none', async () => {
    const person = await newPerson(service);
    const unknown = await post('introspect', { token: 'x' }, other_login_app);
    for (const presented of [person.token, person.refreshToken]) {
      const { status, text } = await post('introspect', { token: presented }, other_login_app);
      expect([status, text]).toEqual([unknown.status, unknown.text]);
    }
  });

  test.each(['introspect', 'revoke'])('[RFC 7662 2.1] is nothing to %s for a token alone', async (action) => {
    const person = await newPerson(service);
    const answer = await call(`/v2/marketing/oauth/${action}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${person.token}` },
      body: new URLSearchParams({ token: person.token }),
    });
    expect(answer.status).toBe(401);
    expect(await isAlive(person.token)).toBe(true);
  });

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
