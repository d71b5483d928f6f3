import { describe, expect, test } from '@jest/globals';
import { serviceSecretAfter } from '../../lib/secrets/rotate-service-secret.ts';
import { parseServiceSecret, serviceKeysFrom } from '../../lib/secrets/service-secret.ts';
import { stopClock } from '../support/own-table.ts';

const pass = stopClock();
const minute = 60_000;
const day = 24 * 60 * minute;
const keepSeconds = 35 * 86_400;

const secretId = 'refresh-tokens';
const generated = parseServiceSecret('the text that CloudFormation has generated', secretId);
const keysOf = (secret: typeof generated) => serviceKeysFrom(secret, 'refresh-token');
const rotated = (secret: typeof generated) =>
  serviceSecretAfter(parseServiceSecret(JSON.stringify(secret), secretId), keepSeconds);

describe('a service secret', () => {
  test.each(['{"previous": null}', '{"current": "x", "previous": [', ' {}'])(
    'that is damaged, %s, is an error that names it and nothing of what it holds',
    (damaged) => {
      const message =
        'The secret refresh-tokens is damaged: it begins as JSON does, but is no service secret.';
      expect(() => parseServiceSecret(damaged, secretId)).toThrow(new Error(message));
    },
  );

  test('is forgotten when nothing that was made with it can be valid', () => {
    const first = rotated(generated);
    pass(10 * minute);
    let secret = rotated(first);
    pass(35 * day);
    secret = rotated(secret);
    expect(keysOf(secret).withId(keysOf(generated).current.id)).toBeDefined();
    pass(10 * minute);
    secret = rotated(secret);
    expect(keysOf(secret).withId(keysOf(generated).current.id)).toBeUndefined();
    expect(secret.previous).toHaveLength(2);
  });
});
