import { timestamp } from '../clock.ts';
import { newId } from '../secrets.ts';
import { putNewItem } from '../storage/items.ts';
import { loginAppKey } from '../storage/keys.ts';

/** Creates a Login App, which has no clients, providers or mobile applications yet. */
export async function createLoginApp(
  name: string,
  login_app_id = newId('la'),
): Promise<{ login_app_id: string }> {
  await putNewItem({ ...loginAppKey(login_app_id), login_app_id, name, created_at: timestamp() });
  return { login_app_id };
}
