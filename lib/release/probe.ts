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
 * A client of a Login App and an account that exist for a check, at most until `expires_at`, in
 * epoch seconds.
 */
export type Probe = Awaited<ReturnType<typeof createProbe>>;

const name = 'Probe of a check';
/** Seconds after which the table may delete a probe: a check takes five minutes at most. */
const lifetimeSeconds = 600;
/** Seconds for which the access of a probe leads a later check to what a killed one left. */
const traceSeconds = 30 * 86_400;
/** The largest id that a path can name, so that it has no events. */
const access_request_id = 9_999_999_999_999;

/** The provider of a probe's Login App. */
export const provider: ProviderId = 'provider_f';
const audience = 'probe';
const subject = 'probe';

/** An issuer of its own for each probe. It has no address. */
const issuerOf = (loginAppId: string): string => `${probeIssuer}${loginAppId}`;

/** An id of the usual form, with 96 random bits. */
const probeId = (prefix: string): string => `${prefix}${randomBytes(12).toString('base64url')}`;

/**
 * Makes a probe, or nothing when it fails, after removing those that killed checks left: the access
 * of a probe's account is written first and removed last, so it leads to what is left.
 */
export async function createProbe() {
  for (const { account_id, login_app_id, used_until = Infinity } of await readAccesses(
    access_request_id,
  ))
    if (login_app_id && used_until <= epochSeconds()) await removeProbe(login_app_id, account_id);
  const loginAppId = probeId(probeIds.loginApp);
  const accountId = probeId(probeIds.account);
  const expires_at = epochSeconds() + lifetimeSeconds;
  try {
    await putProbeAccess(access_request_id, accountId, {
      login_app_id: loginAppId,
      used_until: expires_at,
      expires_at: epochSeconds() + traceSeconds,
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

/**
 * Removes a probe with its provider and person, or what is left of them: a deletion leaves the
 * person's id.
 * @param blockedUntil epoch seconds until which the person stays, blocked, so that a login under
 *   way is refused
 */
export async function removeProbe(loginAppId: string, accountId: string, blockedUntil?: number) {
  const namespace = issuerOf(loginAppId);
  const person = firstIndexId(loginAppId, { namespace, subject });
  const ofLoginApp = await readPartition(keys.loginAppPartition(loginAppId));
  const ofPerson = await readPartition(keys.loginUserPartition(person));
  const items = [...ofLoginApp, ...ofPerson].map(keyOf);
  const all = [...items, keys.accountKey(accountId), keys.issuerKeysKey(namespace)];
  await Promise.all(all.map((key) => deleteItem(key)));
  if (blockedUntil !== undefined) {
    const blocked = { blocked_at: timestamp(), expires_at: blockedUntil };
    await putItem<Item>({ ...keys.loginUserKey(person), parse: asItIs }, blocked);
  }
  await deleteProbeAccess(access_request_id, accountId);
}

/**
 * Gives a probe's Login App a provider that exists in the table alone, and returns the id token of
 * its only person. The signing key is forgotten, and its public part is stored as if it had been
 * fetched from the issuer: nothing outside is called, and nobody else can log in.
 * @param expires_at epoch seconds of the end of the items
 */
export async function setUpProvider(loginAppId: string, expires_at: number): Promise<string> {
  const issuer = issuerOf(loginAppId);
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const key = {
    ...(await exportJWK(publicKey)),
    kty: 'EC',
    kid: 'probe',
    alg: 'ES256',
    use: 'sig',
  };
  const keySet = { key_set: { keys: [key] }, fetched_at: clock.now().getTime(), expires_at };
  await putItem<Item>({ ...keys.issuerKeysKey(issuer), parse: asItIs }, keySet);
  const settingsKey = { ...keys.providerSettingsKey(loginAppId, provider), parse: asItIs };
  await putItem<ItemOf<typeof providerSettingsItem>>(settingsKey, {
    login_app_id: loginAppId,
    provider,
    settings: { issuers: [{ issuer, audiences: [audience] }] },
    revision: 'probe',
    expires_at,
  });
  const iat = epochSeconds();
  const claims = { iss: issuer, aud: audience, sub: subject, iat, exp: iat + 60 };
  return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'probe' }).sign(privateKey);
}

/**
 * In the place of the item kinds' own `parse`, which would bring all of their code along; only the
 * service reads these.
 */
const asItIs = (item: Item): Item => item;
