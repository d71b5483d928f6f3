import { createPrivateKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { textSchema } from './settings/fields.ts';

/** Material of a client secret for Apple. @see https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret */
export const clientSecretJwtSchema = v.strictObject({
  team_id: textSchema,
  key_id: textSchema,
  private_key_secret: v.pipe(
    textSchema,
    v.check(isKeyOfApple, 'must be an EC private key for ES256 in PEM form'),
  ),
});
type ClientSecretJwt = v.InferOutput<typeof clientSecretJwtSchema>;

/** The keys of the settings that a warm function knows, each imported once. */
const importedKeys = new WeakMap<ClientSecretJwt, KeyObject>();

export async function signClientSecret(clientId: string, settings: ClientSecretJwt): Promise<string> {
  const key = importedKeys.get(settings) ?? createPrivateKey(settings.private_key_secret);
  importedKeys.set(settings, key);
  const now = epochSeconds();
  return (
    new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid: settings.key_id })
      .setIssuer(settings.team_id)
      .setSubject(clientId)
      .setAudience('https://appleid.apple.com')
      .setIssuedAt(now)
      // Apple accepts six months at most; the secret is used at once.
      .setExpirationTime(now + 300)
      .sign(key)
  );
}

function isKeyOfApple(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}
