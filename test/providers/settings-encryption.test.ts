import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { startLocalAws } from '../../infra/local/aws.ts';

const place = { loginAppId: 'la_1', provider: 'provider_a' };
const settings = {
  user_info: { url: 'https://provider.example/me' },
  audience_validation: { client_id: 'us', client_secret: 'our-secret', audiences: ['us'] },
  consumer_secret: 'another-secret',
  issuers: [{ audiences: ['us'] }, { code_exchange: { client_secret: 'secret-in-a-list' } }],
};

const current = randomBytes(48).toString('base64url');
const aws = await startLocalAws(new Map());
afterAll(() => aws.close());
aws.secrets.create('provider-settings', current);
Object.assign(process.env, {
  PROVIDER_SETTINGS_SECRET_ID: 'provider-settings',
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: 'local',
  AWS_SECRET_ACCESS_KEY: aws.endpoint.secret_access_key,
  AWS_ENDPOINT_URL_SECRETS_MANAGER: aws.url,
});
// It reads the environment when it is loaded.
const encryption = await import('../../lib/providers/settings/encryption.ts');
const { decryptSecrets, encryptSecrets } = encryption;

describe('the encryption of provider settings', () => {
  test('hides every secret and nothing else, and gives it back', async () => {
    const encrypted = await encryptSecrets(settings, place);
    const text = JSON.stringify(encrypted);
    for (const secret of ['our-secret', 'another-secret', 'secret-in-a-list'])
      expect(text).not.toContain(secret);
    const hidden = expect.stringMatching(/^[\w-]{8}\.[\w-]+$/);
    expect(encrypted).toEqual({
      ...settings,
      audience_validation: { ...settings.audience_validation, client_secret: hidden },
      consumer_secret: hidden,
      issuers: [settings.issuers[0], { code_exchange: { client_secret: hidden } }],
    });
    expect(await decryptSecrets(encrypted, place)).toEqual(settings);
  });

  test('gives any secret back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (a_secret) => {
        const encrypted = await encryptSecrets({ a_secret }, place);
        expect(await decryptSecrets(encrypted, place)).toEqual({ a_secret });
      }),
    );
  });

  test('never encrypts in the same way twice', async () => {
    const newText = async () => JSON.stringify(await encryptSecrets(settings, place));
    const texts = await Promise.all(Array.from({ length: 50 }, newText));
    expect(new Set(texts).size).toBe(50);
  });

  test.each([
    ['another Login App', { ...place, loginAppId: 'la_2' }],
    ['another provider', { ...place, provider: 'provider_b' }],
    ['parts that only read the same', { loginAppId: 'la_1provider_', provider: 'a' }],
  ])('rejects settings that were encrypted for %s', async (_, elsewhere) => {
    const encrypted = await encryptSecrets(settings, elsewhere);
    await expect(decryptSecrets(encrypted, place)).rejects.toThrow();
  });

  test('rejects a secret that was moved to another field', async () => {
    const encrypted = await encryptSecrets({ a_secret: 'a', b_secret: 'b' }, place);
    const { a_secret, b_secret } = Object(encrypted);
    const swapped = { a_secret: b_secret, b_secret: a_secret };
    await expect(decryptSecrets(swapped, place)).rejects.toThrow();
    await expect(decryptSecrets({ nested: { a_secret } }, place)).rejects.toThrow();
  });

  test('rejects a secret in which one bit was changed, or that was cut', async () => {
    const { a_secret } = Object(await encryptSecrets({ a_secret: 'a longer secret' }, place));
    const [keyId, encoded] = a_secret.split('.');
    const bytes = Buffer.from(encoded, 'base64url');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(bytes.readUInt8(at) ^ 1, at);
      const forged = { a_secret: `${keyId}.${changed.toString('base64url')}` };
      await expect(decryptSecrets(forged, place)).rejects.toThrow();
    }
    for (const length of [0, 1, 11, 12, 27, 28, bytes.length - 1]) {
      const cut = { a_secret: `${keyId}.${bytes.subarray(0, length).toString('base64url')}` };
      await expect(decryptSecrets(cut, place)).rejects.toThrow();
    }
  });

  test('reports that the key is another one, and never takes plain text for a secret', async () => {
    for (const a_secret of ['AAAAAAAA.AAAA', 'plain text', ''])
      await expect(decryptSecrets({ a_secret }, place)).rejects.toThrow(/key that is gone/);
  });

  test.each([
    ['none', []],
    ['the first', ['a_secret']],
    ['the last', ['b_secret']],
  ])('encrypts all secrets again when %s of them has the current key already', async (_, names) => {
    const before = await encryptSecrets({ a_secret: 'a', b_secret: 'b' }, place);
    const secret = { current: 'the next', previous: [{ text: current, keep_until: Infinity }] };
    const again = (stored: object) => encryption.reencryptSecrets(stored, place, secret);
    const keyOf = (stored: object) =>
      Object.values(stored).map((text) => String(text).split('.')[0]);
    const after = Object(again(before));
    const [key] = keyOf(after);
    expect(keyOf(before)).not.toContain(key);
    const some = Object.fromEntries(names.map((name) => [name, after[name]]));
    const encrypted = again({ ...before, ...some });
    expect(keyOf(Object(encrypted))).toEqual([key, key]);
    expect(again(Object(encrypted))).toBeUndefined();
  });
});
