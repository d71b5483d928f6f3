import { randomBytes } from 'node:crypto';
import { grantAccess, revokeAccess } from '../access-requests/access.ts';
import { createAccount } from '../accounts/account.ts';
import { createClient, revokeClient } from '../login-apps/clients.ts';
import { createLoginApp } from '../login-apps/create-login-app.ts';
import { deleteItem } from '../storage/items.ts';
import { accountKey, loginAppKey } from '../storage/keys.ts';

/** A client of a Login App and an account, which exist while something is tried out. */
export interface Probe {
  client: { id: string; secret: string };
  account: { id: string; secret: string };
  loginAppId: string;
  /** The access request that the account has access to: the largest id that a path can name, so it has no events. */
  accessRequestId: number;
}

/** The ids of a probe. */
export interface ProbeIds {
  loginAppId: string;
  accountId: string;
  /** Undefined while it has none. */
  clientId?: string;
}

const name = 'Probe of a check';
const accessRequestId = 9_999_999_999_999;

/** Prefixes of the ids of probes, and of the keys that the role of the check of new versions may write. */
const prefixes = { loginApp: 'la_probe-', account: 'ac_probe-' };

/** An id of the usual form, with 96 random bits. */
const probeId = (prefix: string): string => `${prefix}${randomBytes(12).toString('base64url')}`;

/** Whether these are ids of a probe, and not of a Login App and an account that somebody uses. */
export const areOfProbe = ({ loginAppId, accountId, clientId = loginAppId }: ProbeIds): boolean =>
  loginAppId.startsWith(prefixes.loginApp) &&
  clientId.startsWith(loginAppId) &&
  accountId.startsWith(prefixes.account);

/** Makes a probe, uses it and removes it. Its secrets exist in memory and as hashes, and are never used again. */
export async function withProbe(use: (probe: Probe) => Promise<void>): Promise<void> {
  const probe = await createProbe();
  try {
    await use(probe);
  } finally {
    const { client, account, loginAppId } = probe;
    await removeProbe({ loginAppId, accountId: account.id, clientId: client.id });
  }
}

/** Makes a probe, or nothing when it fails. */
export async function createProbe(): Promise<Probe> {
  const ids: ProbeIds = { loginAppId: probeId(prefixes.loginApp), accountId: probeId(prefixes.account) };
  try {
    const { login_app_id } = await createLoginApp(name, ids.loginAppId);
    const { client_id, client_secret } = await createClient(login_app_id);
    ids.clientId = client_id;
    const { account_id, account_secret } = await createAccount(name, true, ids.accountId);
    await grantAccess(accessRequestId, account_id);
    return {
      client: { id: client_id, secret: client_secret },
      account: { id: account_id, secret: account_secret },
      loginAppId: login_app_id,
      accessRequestId,
    };
  } catch (error) {
    await removeProbe(ids);
    throw error;
  }
}

/** Removes a probe, or what is left of it. */
export async function removeProbe({ loginAppId, accountId, clientId }: ProbeIds): Promise<void> {
  await Promise.all([
    clientId && revokeClient(loginAppId, clientId),
    deleteItem(loginAppKey(loginAppId)),
    revokeAccess(accessRequestId, accountId),
    deleteItem(accountKey(accountId)),
  ]);
}
