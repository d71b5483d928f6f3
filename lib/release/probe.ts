import { randomBytes } from 'node:crypto';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { deleteProbeAccess, putProbeAccess, readAccesses } from '../access-requests/accesses.ts';
import { createAccount } from '../access-requests/account.ts';
import { clock, epochSeconds, timestamp } from '../foundation/clock.ts';
import { createClient } from '../login-apps/clients.ts';
import { createLoginApp } from '../login-apps/login-app.ts';
import { firstIndexId } from '../login-users/login-user.ts';
import type { ProviderId } from '../providers/provider-ids.ts';
import type { providerSettingsItem } from '../providers/settings/stored.ts';
import { deleteItem, type Item, type ItemOf, keyOf, putItem } from '../storage/items.ts';
import * as keys from '../storage/keys.ts';
import { readPartition } from '../storage/lists.ts';
import { probeIds, probeIssuer } from '../storage/probe-ids.ts';

/**
 * A Login App with a client and a back-office account, which exist for a check: at most until
 * `expires_at`, in epoch seconds.
 */
export type Probe = Awaited<ReturnType<typeof createProbe>>;

const name = 'Probe of a check';
/** Seconds after which the table may delete a probe: a check takes five minutes at most. */
const lifetimeSeconds = 600;
/**
 * Seconds for which the access of a probe's account is kept. It leads a later check to the rest of
 * a probe whose check was killed.
 */
const accessLifetimeSeconds = 30 * 86_400;
/** The largest id that a path can name, so that there is no such access request. */
const access_request_id = 9_999_999_999_999;

/** The provider of a probe's Login App. */
export const provider: ProviderId = 'provider_f';
const audience = 'probe';
const subject = 'probe';

/** The issuer of a probe's id token. Each probe has an issuer of its own, without an address. */
const issuerOf = (loginAppId: string): string => `${probeIssuer}${loginAppId}`;

/** An id of the usual form, with 96 random bits. */
const probeId = (prefix: string): string => `${prefix}${randomBytes(12).toString('base64url')}`;

/**
 * Creates a probe, or nothing if that fails. The access of its account is written first and removed
 * last, so that it leads to everything that a killed check leaves. Such rests are removed first.
 */
export async function createProbe() {
  await removeLeftProbes();
  const loginAppId = probeId(probeIds.loginApp);
  const accountId = probeId(probeIds.account);
  const expires_at = epochSeconds() + lifetimeSeconds;
  try {
    await putProbeAccess(access_request_id, accountId, {
      login_app_id: loginAppId,
      used_until: expires_at,
      expires_at: epochSeconds() + accessLifetimeSeconds,
    });
    await createLoginApp(name, { loginAppId, expires_at });
    const client = await createClient(loginAppId, { recipients: true, expires_at });
    const account = await createAccount(name, true, { accountId, expires_at });
    return { login_app_id: loginAppId, ...client, ...account, access_request_id, expires_at };
  } catch (error) {
    await removeProbe(loginAppId, accountId);
    throw error;
  }
}

/** Removes the probes whose checks were killed before they could do that. */
async function removeLeftProbes(): Promise<void> {
  const accesses = await readAccesses(access_request_id);
  for (const { account_id, login_app_id, used_until = Infinity } of accesses) {
    const isOver = used_until <= epochSeconds();
    if (login_app_id && isOver) await removeProbe(login_app_id, account_id);
  }
}

/**
 * Removes a probe with its provider and person. The person's Login User may be deleted already, of
 * which the item of their id is left.
 * @param blockedUntil epoch seconds until which the person stays, blocked, so that a login which
 *   has begun already is refused
 */
export async function removeProbe(loginAppId: string, accountId: string, blockedUntil?: number) {
  const namespace = issuerOf(loginAppId);
  const loginUserId = firstIndexId(loginAppId, { namespace, subject });
  const itemsOfLoginApp = await readPartition(keys.loginAppPartition(loginAppId));
  const itemsOfPerson = await readPartition(keys.loginUserPartition(loginUserId));
  const removed = [
    ...itemsOfLoginApp.map(keyOf),
    ...itemsOfPerson.map(keyOf),
    keys.accountKey(accountId),
    keys.issuerKeysKey(namespace),
  ];
  await Promise.all(removed.map((key) => deleteItem(key)));

  if (blockedUntil !== undefined) {
    const blocked = { blocked_at: timestamp(), expires_at: blockedUntil };
    await putItem<Item>(unparsed(keys.loginUserKey(loginUserId)), blocked);
  }
  await deleteProbeAccess(access_request_id, accountId);
}

/**
 * Gives a probe's Login App a provider that exists in the table alone: the public key of its issuer
 * is stored as if it had been fetched, so that nothing outside is called. The private key is
 * forgotten, so that nobody else can log in.
 * @param expires_at epoch seconds of the end of the items
 * @returns the id token of the only person
 */
export async function setUpProvider(loginAppId: string, expires_at: number): Promise<string> {
  const issuer = issuerOf(loginAppId);
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const header = { alg: 'ES256', kid: 'probe' };

  const publicJwk = { ...(await exportJWK(publicKey)), ...header, kty: 'EC', use: 'sig' };
  const keySet = {
    key_set: { keys: [publicJwk] },
    fetched_at: clock.now().getTime(),
    expires_at,
  };
  await putItem<Item>(unparsed(keys.issuerKeysKey(issuer)), keySet);

  const settingsKey = unparsed(keys.providerSettingsKey(loginAppId, provider));
  await putItem<ItemOf<typeof providerSettingsItem>>(settingsKey, {
    login_app_id: loginAppId,
    provider,
    settings: { issuers: [{ issuer, audiences: [audience] }] },
    revision: 'probe',
    expires_at,
  });

  const iat = epochSeconds();
  const claims = { iss: issuer, aud: audience, sub: subject, iat, exp: iat + 60 };
  return new SignJWT(claims).setProtectedHeader(header).sign(privateKey);
}

/**
 * The key of an item that is written here and read by the service alone. The key of its item kind
 * would bring the code of other rooms into the bundle.
 */
const unparsed = (key: keys.Key) => ({ ...key, parse: (item: Item): Item => item });
