import { describe, expect, test } from '@jest/globals';
import { getJson, ownSandbox } from '../../support/sandbox.ts';

const { sandbox, credentialsUrl } = ownSandbox();

describe('credentials', () => {
  const fields = {
    provider_a: ['access_token'],
    provider_b: ['access_token', 'authorization_code'],
    provider_c: ['access_secret', 'access_token'],
    provider_d: ['access_token'],
    provider_e: ['access_token'],
    provider_f: ['id_token'],
  };

  test.each(Object.entries(fields))('%s gives the fields of its login request', async (provider, names) => {
    const [first, second] = await Promise.all([
      getJson(credentialsUrl(provider, 'alice')),
      getJson(credentialsUrl(provider, 'alice', { expired: 'true', audience: 'another-app' })),
    ]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(Object.keys(first.body).sort()).toEqual(names);
    expect(Object.keys(second.body).sort()).toEqual(names);
    for (const name of names) expect(first.body[name]).not.toBe(second.body[name]);
  });

  test('a missing or empty subject is a 400 that names it', async () => {
    for (const query of ['', '?subject=']) {
      const { status, body } = await getJson(`${sandbox().url}/provider_a/credentials${query}`);
      expect(status).toBe(400);
      expect(body).toEqual({
        error: 'invalid_request',
        error_description: expect.stringContaining('subject'),
      });
    }
  });

  test('an audience, a flag or claims that make no sense are a 400', async () => {
    for (const wrong of [{ audience: 'x' }, { expired: '1' }, { claims: '{' }, { claims: '3' }]) {
      expect((await getJson(credentialsUrl('provider_f', 'alice', wrong))).status).toBe(400);
    }
  });

  test('an unknown provider is a 404', async () => {
    for (const provider of ['provider_g', '__proto__', 'constructor']) {
      const { status, body } = await getJson(credentialsUrl(provider, 'alice'));
      expect([status, body.error]).toEqual([404, 'not_found']);
    }
  });
});
