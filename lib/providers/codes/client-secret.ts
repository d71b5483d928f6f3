import { createPrivateKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import { epochSeconds } from '../../foundation/clock.ts';
import { basicAuthorization } from '../calls/call-provider.ts';
import type { RefreshTokenSettings } from './settings.ts';

/** The keys in settings that a warm function has imported. */
const importedKeys = new WeakMap<object, KeyObject>();

/**
 * The secret with which our app authenticates: that of the settings, or for Apple a JWT that is
 * signed for this call.
 */
export async function clientSecretOf({
  client_id: sub,
  client_secret = '',
  client_secret_jwt: jwt,
}: RefreshTokenSettings) {
  if (!jwt) return client_secret;
  const key = importedKeys.get(jwt) ?? createPrivateKey(jwt.private_key_secret);
  importedKeys.set(jwt, key);
  const iat = epochSeconds();
  const claims = { iss: jwt.team_id, sub, aud: 'https://appleid.apple.com', iat, exp: iat + 300 };
  return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: jwt.key_id }).sign(key);
}

/**
 * A form with our app's credentials, in the header or the form.
 * @see RFC 6749 section 2.3.1
 */
export const authenticated = (
  {
    client_id,
    client_authentication = 'basic',
  }: {
    client_id: string;
    client_authentication?: RefreshTokenSettings['client_authentication'] | undefined;
  },
  client_secret: string,
  form: Record<string, string>,
) =>
  client_authentication === 'basic'
    ? { form, headers: { authorization: basicAuthorization(client_id, client_secret) } }
    : { form: { ...form, client_id, client_secret } };
