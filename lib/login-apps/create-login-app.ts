import { timestamp } from '../clock.ts';
import { newId } from '../secrets/secrets.ts';
import { putNewItem, updateItem } from '../storage/items.ts';
import { loginAppKey, loginAppsList, namePosition } from '../storage/keys.ts';

/**
 * Creates a Login App, which has no clients, providers or mobile applications yet.
 * @param more an id of its own, and epoch seconds of its end
 */
export async function createLoginApp(
  name: string,
  { login_app_id = newId('la'), ...more }: { login_app_id?: string; expires_at?: number } = {},
): Promise<{ login_app_id: string }> {
  await putNewItem({
    ...loginAppKey(login_app_id),
    login_app_id,
    ...named(login_app_id, name),
    created_at: timestamp(),
    ...more,
  });
  return { login_app_id };
}

/** Gives a Login App another name. False when there is none. */
export async function renameLoginApp(id: string, name: string): Promise<boolean> {
  const { done } = await updateItem(loginAppKey(id), {
    set: named(id, name),
    when: { pk: { exists: true } },
  });
  return done;
}

/** A name, and the place of the Login App in the list of all. */
const named = (id: string, name: string) => ({
  name,
  list: loginAppsList,
  list_position: namePosition(name, id),
});
