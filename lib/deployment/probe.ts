import { randomBytes } from 'node:crypto';
import { grantAccess, revokeAccess } from '../access-requests/access.ts';
import { createAccount } from '../accounts/account.ts';
import { createClient, revokeClient } from '../login-apps/clients.ts';
import { createLoginApp } from '../login-apps/create-login-app.ts';
import { deleteItem } from '../storage/items.ts';
import { accountKey, loginAppKey } from '../storage/keys.ts';

/** A client of a Login App and an account, which exist while new versions are tried. */
export interface Probe {
  client: { id: string; secret: string };
  account: { id: string; secret: string };
  /** Which the account has access to. It is the largest id that a path can name, so it has no events. */
  accessRequestId: number;
}

const name = 'Check of new versions';
const accessRequestId = 9_999_999_999_999;

/** An id of the usual form that the role of the check may write: `la_probe-` and 96 random bits. */
const probeId = (prefix: string): string => `${prefix}_probe-${randomBytes(12).toString('base64url')}`;

/** Makes a probe, uses it and removes it. Its secrets exist in memory and as hashes, and are never used again. */
export async function withProbe(use: (probe: Probe) => Promise<void>): Promise<void> {
  const removals: (() => Promise<void>)[] = [];
  try {
    const { login_app_id } = await createLoginApp(name, probeId('la'));
    removals.push(() => deleteItem(loginAppKey(login_app_id)));
    const { client_id, client_secret } = await createClient(login_app_id);
    removals.push(() => revokeClient(login_app_id, client_id));
    const { account_id, account_secret } = await createAccount(name, true, probeId('ac'));
    removals.push(() => deleteItem(accountKey(account_id)));
    await grantAccess(accessRequestId, account_id);
    removals.push(() => revokeAccess(accessRequestId, account_id));
    await use({
      client: { id: client_id, secret: client_secret },
      account: { id: account_id, secret: account_secret },
      accessRequestId,
    });
  } finally {
    await Promise.all(removals.map((remove) => remove()));
  }
}
