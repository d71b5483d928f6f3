import { timestamp } from '../clock.ts';
import { firstSecret, newId, newSecret } from '../secrets.ts';
import {
  type RevokedSecret,
  type RotatedSecrets,
  revokeSecretOf,
  rotateSecretOf,
} from '../storage/item-secrets.ts';
import { deleteItem, putItem, putNewItem } from '../storage/items.ts';
import { clientKey, loginAppKey, mobileApplicationKey } from '../storage/keys.ts';
import type { LoginAppClient } from './login-app.ts';
import type { Platform } from './platforms.ts';

/** What the secrets of clients begin with. */
const secretPrefix = 'lcs';

/** Creates a Login App, which has no clients, providers or mobile applications yet. */
export async function createLoginApp(name: string): Promise<{ login_app_id: string }> {
  const login_app_id = newId('la');
  await putNewItem({ ...loginAppKey(login_app_id), login_app_id, name, created_at: timestamp() });
  return { login_app_id };
}

/** Creates a client of a Login App. The secret is in the answer and nowhere else. */
export async function createClient(
  loginAppId: string,
): Promise<{ client_id: string; client_secret: string }> {
  const client_id = `${loginAppId}.${newId('c')}`;
  const client_secret = newSecret(secretPrefix);
  await putNewItem({
    ...clientKey(loginAppId, client_id),
    client_id,
    ...firstSecret(client_secret),
    created_at: timestamp(),
  });
  return { client_id, client_secret };
}

/** Gives a client a new secret; the old one is valid until it is revoked. */
export const rotateClientSecret = (loginAppId: string, client: LoginAppClient): Promise<RotatedSecrets> =>
  rotateSecretOf(clientKey(loginAppId, client.client_id), client, secretPrefix);

/** Takes one of the secrets of a client away. */
export const revokeClientSecret = (
  loginAppId: string,
  client: LoginAppClient,
  secretId: string,
): Promise<RevokedSecret> => revokeSecretOf(clientKey(loginAppId, client.client_id), client, secretId);

export const revokeClient = (loginAppId: string, clientId: string): Promise<void> =>
  deleteItem(clientKey(loginAppId, clientId));

export const setMobileApplication = (loginAppId: string, platform: Platform): Promise<void> =>
  putItem({ ...mobileApplicationKey(loginAppId, platform), platform, created_at: timestamp() });

export const removeMobileApplication = (loginAppId: string, platform: Platform): Promise<void> =>
  deleteItem(mobileApplicationKey(loginAppId, platform));
