import { clock } from '../../foundation/clock.ts';
import { type LoginApp, loginAppItem } from '../../login-apps/login-app.ts';
import { loginUserIn, peopleLists } from '../../login-users/login-user.ts';
import { readLoginSettings } from '../../providers/jwt/issuers-in-settings.ts';
import { authorizationCodeProvider } from '../../providers/provider-ids.ts';
import { forEachInBatches, forEachOfLists, timeLimit } from '../../storage/batches.ts';
import { deleteItem, type Item, setTimestamp } from '../../storage/items.ts';
import * as keys from '../../storage/keys.ts';
import { readGlobalPages, readMemberPages, readPartition } from '../../storage/lists.ts';
import { shards } from '../../storage/table.ts';
import { retryRevocations } from '../identities/revoke-tokens.ts';
import { deleteLoginUser } from './delete-login-user.ts';

/**
 * Seconds after which no instance lets anybody log in at a disabled Login App; each caches the
 * status for 30.
 */
const settledAfter = 60;

/** The reason why a Login App can't be deleted without its people; undefined if it can. */
export async function reasonToKeep(loginApp: LoginApp): Promise<string | undefined> {
  const { login_app_id, disabled_at, clients, providers } = loginApp;
  const people = (await Promise.all(peopleOf(login_app_id).map(firstPage))).flat();
  if (people.some(loginUserIn)) return 'it has Login Users';
  if (people.length > 0 && canRevoke(loginApp))
    return 'tokens of deleted Login Users are still to be revoked';
  const devices = await Promise.all(devicesOf(login_app_id, 1).map(firstPage));
  if (devices.some((page) => page.length > 0)) return 'it has devices';
  if (disabled_at === undefined && clients.size > 0 && providers.size > 0)
    return 'it is enabled, and people can log in';
  return undefined;
}

/**
 * Whether stored tokens can still be revoked: an operator who removes the provider gives them up.
 */
const canRevoke = ({ providers }: LoginApp): boolean =>
  providers.has(authorizationCodeProvider) ||
  [...providers.values()].some((settings) =>
    readLoginSettings(settings).idTokens.some((one) => one.code_exchange),
  );

type Pages = AsyncGenerator<Item[]>;

const firstPage = async (pages: Pages): Promise<Item[]> => (await pages.next()).value ?? [];

const peopleOf = (loginAppId: string) =>
  peopleLists(loginAppId).map((list) => readMemberPages(list));

const devicesOf = (loginAppId: string, limit?: number): Pages[] =>
  shards.map((shard) =>
    readGlobalPages('by_shard', keys.devicesOfLoginAppShard(loginAppId, shard), limit),
  );

/**
 * Deletes a Login App with everything that belongs to it, in steps of a few seconds. Disables it
 * first, and deletes its own item when every instance knows that; until then, each step looks for
 * new people.
 * @returns the outcome of a step, and the seconds until the next one. None when all is deleted, or
 *   when the Login App has to stay because tokens can't be revoked without its provider settings
 */
export async function deleteLoginApp(loginApp: LoginApp) {
  const { login_app_id, disabled_at } = loginApp;
  await setTimestamp(loginAppItem(login_app_id), 'disabled_at', true);
  const hasTime = timeLimit();
  const removed = { login_users: 0, devices: 0 };
  let tokens_not_revoked = 0;
  const removePerson = async ({ login_user_id }: Item) => {
    const { isNew, tokensLeft } = await deletePerson(loginApp, String(login_user_id));
    if (isNew) removed.login_users += 1;
    tokens_not_revoked += tokensLeft;
  };
  const removeDevice = async ({ device_id, installation_id }: Item) => {
    // The device goes last: it names its installation.
    if (installation_id !== undefined)
      await deleteItem(keys.installationKey(login_app_id, String(installation_id)));
    await deleteItem(keys.deviceKey(String(device_id)));
    removed.devices += 1;
  };
  const noPeople = await forEachOfLists(peopleOf(login_app_id), removePerson, hasTime);
  const noDevices = await forEachOfLists(devicesOf(login_app_id), removeDevice, hasTime);
  const isAll = noPeople && noDevices;
  const isStuck = isAll || removed.login_users + removed.devices === 0;
  if (tokens_not_revoked > 0 && isStuck)
    return { login_app_id, deleted: false, removed, tokens_not_revoked };
  if (!isAll) return { login_app_id, deleted: false, removed, again_after_seconds: 0 };
  const since =
    disabled_at === undefined ? 0 : (clock.now().getTime() - Date.parse(disabled_at)) / 1000;
  if (since < settledAfter)
    return {
      login_app_id,
      deleted: false,
      removed,
      again_after_seconds: Math.ceil(settledAfter - since),
    };
  const items = await readPartition(keys.loginAppPartition(login_app_id));
  const root = keys.loginAppKey(login_app_id);
  const members = items.filter(({ sk }) => sk !== root.sk);
  await forEachInBatches(members, (item) => deleteItem(item));
  await deleteItem(root);
  return { login_app_id, deleted: true, removed };
}

/** Deletes a person, or what is left of one, but for tokens that can still be revoked. */
async function deletePerson(loginApp: LoginApp, id: string) {
  const deletion = await deleteLoginUser(id, 'operator');
  const notRevoked = deletion
    ? deletion.tokens_not_revoked
    : (await retryRevocations(id))?.not_revoked;
  const tokensLeft = canRevoke(loginApp) ? (notRevoked ?? 0) : 0;
  if (tokensLeft === 0) await deleteItem(keys.loginUserKey(id));
  return { isNew: deletion !== undefined, tokensLeft };
}
