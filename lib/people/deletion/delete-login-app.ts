import { clock } from '../../foundation/clock.ts';
import type { LoginApp } from '../../login-apps/login-app.ts';
import { setStatus } from '../../login-apps/status.ts';
import { loginUserIn, peopleLists } from '../../login-users/login-user.ts';
import { authorizationCodeProvider } from '../../providers/provider-ids.ts';
import { issuersIn } from '../../providers/settings/issuers.ts';
import { forEachInBatches, timeLimit } from '../../storage/batches.ts';
import { deleteItem, type Item, keyOf } from '../../storage/items.ts';
import {
  deviceKey,
  devicesOfLoginAppShard,
  installationKey,
  loginAppKey,
  loginAppPartition,
  loginUserKey,
} from '../../storage/keys.ts';
import { readGlobalList, readListInOrder, readMembers, readPartition } from '../../storage/lists.ts';
import { shards } from '../../storage/table.ts';
import { retryRevocations } from '../identities/provider-tokens.ts';
import { deleteLoginUser } from './delete-login-user.ts';

/** Seconds after which no instance lets anybody log in at a disabled Login App: its status is cached for 30. */
const settledAfter = 60;

/** The reason to keep a Login App that is to be deleted without its people; undefined when there is none. */
export async function reasonToKeep(loginApp: LoginApp): Promise<string | undefined> {
  const { login_app_id, disabled_at, clients, providers } = loginApp;
  const firstPages = await Promise.all(peopleOf(login_app_id).map((readPage) => readPage()));
  const people = firstPages.flatMap(({ items }) => items);
  if (people.some(loginUserIn)) return 'it has Login Users';
  if (people.length > 0 && canRevoke(loginApp))
    return 'tokens of deleted Login Users are still to be revoked';
  const devices = await Promise.all(devicesOf(login_app_id, 1).map((readPage) => readPage()));
  if (devices.some(({ items }) => items.length > 0)) return 'it has devices';
  if (disabled_at === undefined && clients.size > 0 && providers.size > 0)
    return 'it is enabled, and people can log in';
  return undefined;
}

/** Whether the tokens that are kept to be revoked can ever be: an operator who removes the provider gives them up. */
const canRevoke = ({ providers }: LoginApp): boolean =>
  providers.has(authorizationCodeProvider) ||
  [...providers.values()].some((settings) => issuersIn(settings).idTokens.some((one) => one.code_exchange));

type ReadPage = (start?: Item) => Promise<{ items: Item[]; next: Item | undefined }>;

const peopleOf = (loginAppId: string): ReadPage[] =>
  peopleLists(loginAppId).map((list) => async (start) => {
    const { keys, next } = await readListInOrder(list, { limit: 100, start });
    return { items: await readMembers(keys), next };
  });

const devicesOf = (loginAppId: string, limit: number): ReadPage[] =>
  shards.map((shard) => {
    const list = devicesOfLoginAppShard(loginAppId, shard);
    return (start) => readGlobalList('by_shard', list, { limit, start });
  });

/**
 * Deletes a Login App with everything that belongs to it, in steps of a few seconds. Disables it first; the Login App itself
 * goes last, when every instance knows that it is disabled: until then, each step looks for people who have come since.
 * @returns the outcome of one step, and the seconds until the next one. There is none when all is deleted, nor when tokens of
 *   providers could not be revoked: the Login App stays until they are, since that needs the provider settings
 */
export async function deleteLoginApp(loginApp: LoginApp) {
  const { login_app_id, disabled_at } = loginApp;
  await setStatus(login_app_id, 'disabled_at', true);
  const hasTime = timeLimit();
  const removed = { login_users: 0, devices: 0 };
  let tokens_not_revoked = 0;
  const noPeople = await forEachMember(peopleOf(login_app_id), hasTime, async (item) => {
    const { isNew, tokensLeft } = await deletePerson(loginApp, String(item.login_user_id));
    if (isNew) removed.login_users += 1;
    tokens_not_revoked += tokensLeft;
  });
  const noDevices = await forEachMember(
    devicesOf(login_app_id, 100),
    hasTime,
    async ({ device_id, installation_id }) => {
      // The device goes last: it tells which installation it belongs to.
      if (installation_id !== undefined)
        await deleteItem(installationKey(login_app_id, String(installation_id)));
      await deleteItem(deviceKey(String(device_id)));
      removed.devices += 1;
    },
  );
  const isAll = noPeople && noDevices;
  const isStuck = isAll || removed.login_users + removed.devices === 0;
  if (tokens_not_revoked > 0 && isStuck) return { deleted: false, removed, tokens_not_revoked };
  if (!isAll) return { deleted: false, removed, again_after_seconds: 0 };
  const since = disabled_at === undefined ? 0 : (clock.now().getTime() - Date.parse(disabled_at)) / 1000;
  if (since < settledAfter)
    return { deleted: false, removed, again_after_seconds: Math.ceil(settledAfter - since) };
  const items = await readPartition(loginAppPartition(login_app_id));
  const root = loginAppKey(login_app_id);
  const members = items.filter(({ sk }) => sk !== root.sk);
  await forEachInBatches(members, (item) => deleteItem(keyOf(item)));
  await deleteItem(root);
  return { deleted: true, removed };
}

/** Does something with each member of some lists while there is time. False when more is left. */
async function forEachMember(
  lists: ReadPage[],
  hasTime: () => boolean,
  act: (item: Item) => Promise<void>,
): Promise<boolean> {
  for (const readPage of lists) {
    let start: Item | undefined;
    do {
      if (!hasTime()) return false;
      const { items, next } = await readPage(start);
      await forEachInBatches(items, act);
      start = next;
    } while (start);
  }
  return true;
}

/** Deletes a person, or revokes what is left of one. Without the Login App the rest has no use, unless a token can be revoked. */
async function deletePerson(loginApp: LoginApp, id: string) {
  const deletion = await deleteLoginUser(id, 'operator');
  const revocations = deletion?.revocations ?? (await retryRevocations(id));
  const tokensLeft = canRevoke(loginApp) ? (revocations?.not_revoked ?? 0) : 0;
  if (tokensLeft === 0) await deleteItem(loginUserKey(id));
  return { isNew: deletion !== undefined, tokensLeft };
}
