import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { newPhone } from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();

const { refresh } = service;

const logIn = async (): Promise<{ access_token: string; refresh_token: string }> =>
  (await service.logIn(unique('alice'))).body;

/** Whether a session goes on, as its own user notices it. */
const relates = async (access_token: string): Promise<number> =>
  (await service.relate(await newPhone(service), access_token)).status;

describe('grant_type refresh_token', () => {
  test('200 with a new access token and another refresh token, of the same session', async () => {
    const first = await logIn();
    const { status, body, headers } = await refresh(first.refresh_token);
    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.any(String),
      token_type: 'bearer',
      expires_in: 3600,
      refresh_token: expect.any(String),
    });
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body.refresh_token).not.toBe(first.refresh_token);
    const [before, after] = [decodeJwt(first.access_token), decodeJwt(body.access_token)];
    expect([after.sub, after.sid, after.aud]).toEqual([before.sub, before.sid, before.aud]);
    expect(after.jti).not.toBe(before.jti);
    expect(await relates(body.access_token)).toBe(200);
  });

  test('the immediate predecessor gets the same successor: a lost response costs nobody a login', async () => {
    const { refresh_token } = await logIn();
    const first = await refresh(refresh_token);
    const again = await refresh(refresh_token);
    expect(again.status).toBe(200);
    expect(again.body.refresh_token).toBe(first.body.refresh_token);
    expect((await refresh(first.body.refresh_token)).status).toBe(200);
  });

  test('ten refreshes of one token at once: one rotation, ten equal answers, session alive', async () => {
    const { refresh_token } = await logIn();
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(refresh_token)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const successors = new Set(answers.map(({ body }) => body.refresh_token));
    expect(successors.size).toBe(1);
    const [successor = ''] = successors;
    expect((await refresh(successor)).status).toBe(200);
  });

  test.each(['', 'x', 'rt.', 'a'.repeat(20_000), '__proto__'])(
    'no refresh token at all: 400',
    async (token) => {
      const { status, body } = await refresh(token);
      expect(status).toBe(400);
      expect(body.error).toBe(token === '' ? 'invalid_request' : 'invalid_grant');
    },
  );

  test('a required parameter was not supplied: 400 invalid_request naming it', async () => {
    const { status, body } = await service.token({ grant_type: 'refresh_token' });
    expect({ status, body }).toEqual({
      status: 400,
      body: { error: 'invalid_request', error_description: 'The parameter refresh_token is required.' },
    });
  });
});
