import { clock } from '../../foundation/clock.ts';
import { type LoginApp, loginAppItem } from '../../login-apps/login-app.ts';
import { loginUserIn, peopleLists } from '../../login-users/login-user.ts';
import { authorizationCodeProvider, providerIds } from '../../providers/provider-ids.ts';
import { settingsOf } from '../../providers/stored/settings-of.ts';
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

  const people = await firstPages(peopleOf(login_app_id));
  const hasLoginUsers = people.some(loginUserIn);
  if (hasLoginUsers) return 'it has Login Users';

  // Without Login Users, the lists lead to deleted ones whose tokens are still stored.
  const hasStoredTokens = people.length > 0;
  if (hasStoredTokens && canRevoke(loginApp))
    return 'tokens of deleted Login Users are still to be revoked';

  const devices = await firstPages(devicesOf(login_app_id, 1));
  if (devices.length > 0) return 'it has devices';

  const isEnabled = disabled_at === undefined;
  const canLogIn = clients.size > 0 && providers.size > 0;
  return isEnabled && canLogIn ? 'it is enabled, and people can log in' : undefined;
}

/**
 * Whether stored tokens can still be revoked: an operator who removes the provider gives them up.
 */
function canRevoke({ providers }: LoginApp): boolean {
  if (providers.has(authorizationCodeProvider)) return true;
  const issuers = providerIds.flatMap((provider) => {
    const settings = providers.get(provider) ?? {};
    return settingsOf(provider).issuers(settings).idTokens;
  });
  return issuers.some(({ code_exchange }) => code_exchange !== undefined);
}

/** A list, read page by page. */
type Pages = AsyncGenerator<Item[]>;

async function firstPages(lists: Pages[]): Promise<Item[]> {
  const pages = await Promise.all(lists.map((list) => list.next()));
  return pages.flatMap(({ value }) => value ?? []);
}

const peopleOf = (loginAppId: string): Pages[] =>
  peopleLists(loginAppId).map((list) => readMemberPages(list));

/** @param limit the most devices of a page */
function devicesOf(loginAppId: string, limit?: number): Pages[] {
  const lists = shards.map((shard) => keys.devicesOfLoginAppShard(loginAppId, shard));
  return lists.map((list) => readGlobalPages('by_shard', list, limit));
}

/**
 * Deletes a Login App with everything that belongs to it, in steps of a few seconds. It is disabled
 * first. Its own item goes when every instance knows that; until then, each step looks for new
 * people.
 * @returns the outcome of a step, and the seconds until the next one. None when all is deleted, or
 *   when the Login App has to stay because tokens can't be revoked without its provider settings
 */
export async function deleteLoginApp(loginApp: LoginApp) {
  const { login_app_id, disabled_at } = loginApp;

  // 1. Nobody else logs in.
  await setTimestamp(loginAppItem(login_app_id), 'disabled_at', true);

  // 2. People and devices go, as many as there is time for.
  const { removed, tokensLeft, isAll } = await removePeopleAndDevices(loginApp);
  const step = { login_app_id, deleted: false, removed };

  // 3. A step that reached everybody, or could remove nobody, leaves only people whose tokens were
  //    not revoked. Another step would not get further.
  const hasRemovedNobody = removed.login_users + removed.devices === 0;
  const isStuck = isAll || hasRemovedNobody;
  if (tokensLeft > 0 && isStuck) return { ...step, tokens_not_revoked: tokensLeft };
  if (!isAll) return { ...step, again_after_seconds: 0 };

  // 4. An instance that does not know yet that the Login App is disabled may let somebody log in.
  const secondsLeft = secondsUntilSettled(disabled_at);
  if (secondsLeft > 0) return { ...step, again_after_seconds: secondsLeft };

  // 5. The Login App itself goes.
  await removeLoginApp(login_app_id);
  return { ...step, deleted: true };
}

/** @param disabledAt undefined for a Login App that has just been disabled */
function secondsUntilSettled(disabledAt: string | undefined): number {
  if (disabledAt === undefined) return settledAfter;
  const sinceDisabled = (clock.now().getTime() - Date.parse(disabledAt)) / 1000;
  return Math.max(0, Math.ceil(settledAfter - sinceDisabled));
}

/**
 * Removes people and devices while there is time.
 * @returns how many were removed, the number of tokens that are still to be revoked, and whether
 *   everybody was reached
 */
async function removePeopleAndDevices(loginApp: LoginApp) {
  const { login_app_id } = loginApp;
  const hasTime = timeLimit();
  const removed = { login_users: 0, devices: 0 };
  let tokensLeft = 0;

  const removePerson = async ({ login_user_id }: Item) => {
    const deletion = await deletePerson(loginApp, String(login_user_id));
    if (deletion.isNew) removed.login_users += 1;
    tokensLeft += deletion.tokensLeft;
  };
  const removeDevice = async ({ device_id, installation_id }: Item) => {
    // The device goes last: it names its installation.
    if (installation_id !== undefined)
      await deleteItem(keys.installationKey(login_app_id, String(installation_id)));
    await deleteItem(keys.deviceKey(String(device_id)));
    removed.devices += 1;
  };

  const isEverybody = await forEachOfLists(peopleOf(login_app_id), removePerson, hasTime);
  const isEveryDevice = await forEachOfLists(devicesOf(login_app_id), removeDevice, hasTime);
  return { removed, tokensLeft, isAll: isEverybody && isEveryDevice };
}

/**
 * Deletes a person, or what is left of one. Their item stays while tokens in it can be revoked.
 * @returns whether the person existed until now, and the number of tokens that are still to be
 *   revoked
 */
async function deletePerson(loginApp: LoginApp, loginUserId: string) {
  const deletion = await deleteLoginUser(loginUserId, 'operator');
  const isNew = deletion !== undefined;

  const notRevoked = isNew ? deletion.tokens_not_revoked : await retriedInVain(loginUserId);
  const tokensLeft = canRevoke(loginApp) ? (notRevoked ?? 0) : 0;

  if (tokensLeft === 0) await deleteItem(keys.loginUserKey(loginUserId));
  return { isNew, tokensLeft };
}

/** The number of a deleted person's tokens that could not be revoked this time either. */
async function retriedInVain(loginUserId: string): Promise<number | undefined> {
  const retried = await retryRevocations(loginUserId);
  return retried?.not_revoked;
}

/** Removes what is in the partition of a Login App. Its own item leads to the others, so it is last. */
async function removeLoginApp(loginAppId: string): Promise<void> {
  const own = keys.loginAppKey(loginAppId);
  const items = await readPartition(keys.loginAppPartition(loginAppId));
  const others = items.filter(({ sk }) => sk !== own.sk);
  await forEachInBatches(others, (item) => deleteItem(item));
  await deleteItem(own);
}
