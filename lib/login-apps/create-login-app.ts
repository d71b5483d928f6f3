import { timestamp } from '../foundation/clock.ts';
import { newId } from '../foundation/ids.ts';
import { putItem, updateOwnItem } from '../storage/items.ts';
import { loginAppsList } from '../storage/keys.ts';
import { named } from '../storage/lists.ts';
import { loginAppItem } from './login-app.ts';

/**
 * Creates a Login App, which has no clients, providers or mobile applications yet.
 * @param more an id of its own, and epoch seconds of its end
 */
export async function createLoginApp(
  name: string,
  { loginAppId = newId('la'), ...more }: { loginAppId?: string; expires_at?: number } = {},
): Promise<{ login_app_id: string }> {
  const place = named(loginAppsList, loginAppId, name);
  const created = { login_app_id: loginAppId, ...place, created_at: timestamp(), ...more };
  await putItem(loginAppItem(loginAppId), created, { ifAbsent: true });
  return { login_app_id: loginAppId };
}

/** Gives a Login App another name. False when there is none. */
export const renameLoginApp = (id: string, name: string): Promise<boolean> =>
  updateOwnItem(loginAppItem(id), {
    set: named(loginAppsList, id, name),
    when: { pk: { exists: true } },
  });
