import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { isId, newId } from '../foundation/ids.ts';
import { rotateSecretOf } from '../secrets/item-secrets.ts';
import { firstSecret, matchesAny, newSecret, secretAttributes } from '../secrets/secrets.ts';
import { forEachOfLists, timeLimit } from '../storage/batches.ts';
import { cached } from '../storage/cache.ts';
import {
  deleteItem,
  type Item,
  type ItemOf,
  itemKind,
  putItem,
  readItem,
  setTimestamp,
} from '../storage/items.ts';
import { accessRequestsOfAccountList, accountKey, accountsList } from '../storage/keys.ts';
import { named, readMemberPages, readPartitionPages } from '../storage/lists.ts';
import { accessItem, removeAccess } from './accesses.ts';

const secretPrefix = 'acs';

export const accountItem = itemKind(
  v.object({
    account_id: v.string(),
    name: v.string(),
    ...secretAttributes,
    /** While this is set, its secrets are not accepted. */
    disabled_at: v.optional(v.string()),
    /** Whether the account may search, but add nothing. */
    read_only: v.optional(v.boolean()),
    created_at: v.string(),
  }),
  accountKey,
);

export type Account = ItemOf<typeof accountItem>;

/** The account with an id. A text that has not the form of an id is not looked up. */
export const readAccount = async (id: string) =>
  isId('ac_…', id) ? readItem(accountItem(id)) : undefined;

const accounts = cached((id) => isId('ac_…', id), readAccount);

/** The account with an id and a secret, or the reason why they are not accepted. */
export async function authenticateAccount(id: string, secret: string) {
  const hasSecret = (account: Account) => matchesAny(secret, account.secrets);
  const isEnabled = ({ disabled_at }: Account) => disabled_at === undefined;
  const account = await accounts.findGranting(
    [id],
    (found) => hasSecret(found) && isEnabled(found),
  );
  if (!account) return 'id_unknown';
  if (!hasSecret(account)) return 'secret_wrong';
  return isEnabled(account) ? account : 'account_disabled';
}

/** The id of a probe's account, and epoch seconds of its end. */
interface ProbeAccount {
  accountId?: string;
  expires_at?: number;
}

/** Creates an account of a back office. Only the answer has the secret. */
export async function createAccount(
  name: string,
  readOnly: boolean,
  { accountId = newId('ac'), ...end }: ProbeAccount = {},
): Promise<{ account_id: string; account_secret: string }> {
  const account_secret = newSecret(secretPrefix);
  const created = {
    account_id: accountId,
    ...named(accountsList, accountId, name),
    ...firstSecret(account_secret),
    read_only: readOnly || undefined,
    created_at: timestamp(),
    ...end,
  };
  await putItem(accountItem(accountId), created, { ifAbsent: true });
  return { account_id: accountId, account_secret };
}

export const rotateAccountSecret = (account: Account) =>
  rotateSecretOf(accountItem(account.account_id), account, secretPrefix);

/**
 * Deletes an account with its accesses, in steps of a few seconds that can be repeated: it is
 * disabled first, and its item goes last. Its access requests and events stay, as does an access
 * that the index does not show yet.
 * @returns the outcome of one step, with `again_after_seconds` when more is left to remove
 */
export async function deleteAccount(account_id: string) {
  await setTimestamp(accountItem(account_id), 'disabled_at', true);
  const hasTime = timeLimit();
  const removed = { accesses: 0 };
  const unfinished = { account_id, deleted: false, removed, again_after_seconds: 0 };

  const list = accessRequestsOfAccountList(account_id);
  const endAccess = async (item: Item) => {
    const access = accessItem.parse(item);
    await removeAccess(access.access_request_id, account_id);
    removed.accesses += 1;
  };
  const accesses = readMemberPages(list);
  if (!(await forEachOfLists([accesses], endAccess, hasTime))) return unfinished;

  // What is left: entries that 1.0.0 did not remove from the lists, and the account's idempotency
  // keys, references and imported ids.
  const root = accountKey(account_id);
  const deleteOther = async (item: Item) => {
    if (item.sk !== root.sk) await deleteItem(item);
  };
  const others = [readPartitionPages(list), readPartitionPages(root.pk)];
  if (!(await forEachOfLists(others, deleteOther, hasTime))) return unfinished;

  await deleteItem(root);
  return { account_id, deleted: true, removed };
}
