import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectError } from '../support/expectations.ts';
import { ownService } from '../support/own-service.ts';
import { unique } from '../support/service.ts';
import { hexToken } from '../support/tokens.ts';

const { service } = await ownService({ ACCESS_TOKEN_SECONDS: '1' });

/** Waits until the clock has passed the `exp` of a token. */
async function expiryOf(token: string): Promise<void> {
  const { exp = 0 } = decodeJwt(token);
  while (Date.now() / 1000 < exp) await wait(50);
}

describe('401 as soon as expires_in is over', () => {
  const rejected = { status: 401, error: 'invalid_token' };

  test('a Login User Token', async () => {
    const { access_token, expires_in } = (await service.logIn(unique('alice'))).body;
    expect(expires_in).toBe(1);
    await expiryOf(access_token);
    expectError(await service.relate(`d_${'A'.repeat(43)}`, access_token), rejected);
  });

  test('a Login App Token', async () => {
    const token = await service.loginAppToken();
    await expiryOf(token);
    expectError(await service.register({ platform: 'ios', token: hexToken() }, token), rejected);
  });
});
