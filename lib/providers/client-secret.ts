import { createPrivateKey, type KeyObject } from 'node:crypto';
import { SignJWT } from 'jose';
import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { described, textSchema } from './settings/fields.ts';

/** Apple accepts six months at most; the secret is used at once. */
const lifetimeSeconds = 300;
const audience = 'https://appleid.apple.com';

/** Material of a client secret for Apple, which is signed with a private key. @see https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret */
export const clientSecretJwtSchema = v.strictObject({
  team_id: described(textSchema, 'for Apple: your team id'),
  key_id: described(textSchema, 'the id of the private key'),
  private_key_secret: described(
    v.pipe(textSchema, v.check(isKeyOfApple, 'must be an EC private key for ES256 in PEM form')),
    'the private key, the text of the `.p8` file. The service signs a client secret with it, valid for 5 minutes',
  ),
});
type ClientSecretJwt = v.InferOutput<typeof clientSecretJwtSchema>;

/** The keys of the settings that a warm function knows, each imported once. */
const importedKeys = new WeakMap<ClientSecretJwt, KeyObject>();

/** The secret with which our app authenticates at a provider: a text, or one that is signed for each call. */
interface ClientCredential {
  client_id: string;
  client_secret?: string | undefined;
  client_secret_jwt?: ClientSecretJwt | undefined;
}

/** The client secret of our app: the one of the settings, or one that we sign. */
export const clientSecretOf = async ({ client_id, client_secret, client_secret_jwt }: ClientCredential) =>
  client_secret_jwt ? signClientSecret(client_id, client_secret_jwt) : (client_secret ?? '');

async function signClientSecret(clientId: string, settings: ClientSecretJwt): Promise<string> {
  const key = importedKeys.get(settings) ?? createPrivateKey(settings.private_key_secret);
  importedKeys.set(settings, key);
  const now = epochSeconds();
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: settings.key_id })
    .setIssuer(settings.team_id)
    .setSubject(clientId)
    .setAudience(audience)
    .setIssuedAt(now)
    .setExpirationTime(now + lifetimeSeconds)
    .sign(key);
}

function isKeyOfApple(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}
