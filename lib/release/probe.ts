import { randomBytes } from 'node:crypto';
import * as v from 'valibot';
import { deleteAccess, putAccess } from '../access-requests/access-request.ts';
import { createAccount } from '../access-requests/account.ts';
import { epochSeconds } from '../foundation/clock.ts';
import { probeIds } from '../foundation/ids.ts';
import { createClient } from '../login-apps/clients.ts';
import { createLoginApp } from '../login-apps/login-app.ts';
import { deleteItem, keyOf } from '../storage/items.ts';
import { accessPrefix, accessRequestPartition, accountKey, loginAppPartition } from '../storage/keys.ts';
import { readPartition } from '../storage/lists.ts';
import { removeProvider } from './probe-provider.ts';

/** A client of a Login App and an account, which exist while something is tried out. */
export interface Probe {
  client: { id: string; secret: string };
  account: { id: string; secret: string };
  loginAppId: string;
  /** Epoch seconds of its end. */
  expiresAt: number;
  /** The access request that the account has access to: the largest id that a path can name, so it has no events. */
  accessRequestId: number;
}

/** The ids of a probe. */
interface ProbeIds {
  loginAppId: string;
  accountId: string;
  /** Undefined while it has none. */
  clientId?: string;
}

const name = 'Probe of a check';
/** Seconds after which no check uses a probe any longer, and the table may delete it: a check takes five minutes at most. */
const lifetimeSeconds = 600;
/** Seconds for which the access of a probe leads a later check to what a killed one has left. */
const traceSeconds = 30 * 86_400;
const accessRequestId = 9_999_999_999_999;

/** An id of the usual form, with 96 random bits. */
const probeId = (prefix: string): string => `${prefix}${randomBytes(12).toString('base64url')}`;

/** Whether these are ids of a probe, and not of a Login App and an account that somebody uses. */
export const areOfProbe = ({ loginAppId, accountId, clientId = loginAppId }: ProbeIds): boolean =>
  loginAppId.startsWith(probeIds.loginApp) &&
  clientId.startsWith(loginAppId) &&
  accountId.startsWith(probeIds.account);

/**
 * Makes a probe, uses it and removes it. Its secrets exist in memory and as hashes, and are never used again.
 * @param end comes when its use is cut short, and a login of its person may still be under way
 */
export async function withProbe(use: (probe: Probe) => Promise<void>, end: AbortSignal): Promise<void> {
  const probe = await createProbe();
  try {
    await use(probe);
  } finally {
    const { loginAppId, account, expiresAt } = probe;
    await removeProbe({ loginAppId, accountId: account.id }, end.aborted ? expiresAt : undefined);
  }
}

/**
 * Makes a probe, or nothing when it fails. Removes those first that killed checks have left: the access of an account is
 * written before everything else of a probe and removed after it, so it leads to what is left.
 */
export async function createProbe(): Promise<Probe> {
  await removeExpiredProbes();
  const [loginAppId, accountId] = [probeId(probeIds.loginApp), probeId(probeIds.account)];
  const expires_at = epochSeconds() + lifetimeSeconds;
  const access = {
    login_app_id: loginAppId,
    used_until: expires_at,
    expires_at: epochSeconds() + traceSeconds,
  };
  try {
    await putAccess(accessRequestId, accountId, access);
    await createLoginApp(name, { loginAppId, expires_at });
    const client = await createClient(loginAppId, { recipients: true, expires_at });
    const { account_secret } = await createAccount(name, true, { accountId, expires_at });
    return {
      client: { id: client.client_id, secret: client.client_secret },
      account: { id: accountId, secret: account_secret },
      loginAppId,
      expiresAt: expires_at,
      accessRequestId,
    };
  } catch (error) {
    await removeProbe({ loginAppId, accountId });
    throw error;
  }
}

/**
 * Removes a probe, or what is left of it.
 * @param blockedUntil epoch seconds until which a login that is still under way finds its person blocked
 */
export async function removeProbe({ loginAppId, accountId }: ProbeIds, blockedUntil?: number): Promise<void> {
  const ofLoginApp = await readPartition(loginAppPartition(loginAppId));
  await Promise.all([
    ...ofLoginApp.map((item) => deleteItem(keyOf(item))),
    deleteItem(accountKey(accountId)),
    removeProvider(loginAppId, blockedUntil),
  ]);
  await deleteAccess(accessRequestId, accountId);
}

const accessOfProbeItem = v.object({
  account_id: v.string(),
  login_app_id: v.string(),
  used_until: v.number(),
});

async function removeExpiredProbes(): Promise<void> {
  const accesses = await readPartition(accessRequestPartition(accessRequestId), accessPrefix);
  const probes = accesses.filter((item) => v.is(accessOfProbeItem, item));
  for (const { account_id, login_app_id, used_until } of probes)
    if (used_until <= epochSeconds()) await removeProbe({ loginAppId: login_app_id, accountId: account_id });
}
