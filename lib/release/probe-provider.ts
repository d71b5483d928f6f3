import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { clock, epochSeconds, timestamp } from '../foundation/clock.ts';
import { probeIssuer } from '../foundation/ids.ts';
import { firstIndexId } from '../login-users/login-user.ts';
import type { ProviderId } from '../providers/provider-ids.ts';
import type { providerSettingsItem } from '../providers/settings/stored.ts';
import { deleteItem, type Item, type ItemOf, keyOf, putItem } from '../storage/items.ts';
import { issuerKeysKey, loginUserKey, loginUserPartition, providerSettingsKey } from '../storage/keys.ts';
import { readPartition } from '../storage/lists.ts';

/** The provider of a probe's Login App. */
export const provider: ProviderId = 'provider_f';
const audience = 'probe';
const subject = 'probe';

/** An issuer of its own for each probe. It has no address. */
const issuerOf = (loginAppId: string): string => `${probeIssuer}${loginAppId}`;

/**
 * Gives a probe's Login App a provider that exists in its items alone, and returns the id token of its only person. The
 * key that signs it is made here and forgotten here, and the table holds its public part as if it had been fetched from
 * the issuer: so nothing outside is called, and nobody else can log in.
 * @param expires_at epoch seconds of the end of the items
 */
export async function setUpProvider(loginAppId: string, expires_at: number): Promise<string> {
  const issuer = issuerOf(loginAppId);
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const key = { ...(await exportJWK(publicKey)), kty: 'EC', kid: 'probe', alg: 'ES256', use: 'sig' };
  await putItem<Item>(
    { ...issuerKeysKey(issuer), parse: asItIs },
    {
      key_set: { keys: [key] },
      fetched_at: clock.now().getTime(),
      expires_at,
    },
  );
  const settingsKey = { ...providerSettingsKey(loginAppId, provider), parse: asItIs };
  await putItem<ItemOf<typeof providerSettingsItem>>(settingsKey, {
    login_app_id: loginAppId,
    provider,
    settings: { issuers: [{ issuer, audiences: [audience] }] },
    revision: 'probe',
    expires_at,
  });
  return new SignJWT()
    .setProtectedHeader({ alg: 'ES256', kid: 'probe' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(subject)
    .setIssuedAt(epochSeconds())
    .setExpirationTime(epochSeconds() + 60)
    .sign(privateKey);
}

/** The items are written here, and read by the service alone: its kinds of items would bring all of its code along. */
const asItIs = (item: Item): Item => item;

/**
 * Removes the keys of a probe's provider, and what is left of its person: a deletion leaves the id, so that nobody gets it again.
 * @param blockedUntil epoch seconds until which the person stays, blocked: the store then refuses a login that is still
 *   under way, and removes them later
 */
export async function removeProvider(loginAppId: string, blockedUntil?: number): Promise<void> {
  const namespace = issuerOf(loginAppId);
  const person = firstIndexId(loginAppId, { namespace, subject });
  const ofPerson = await readPartition(loginUserPartition(person));
  await Promise.all([
    deleteItem(issuerKeysKey(namespace)),
    ...ofPerson.map((item) => deleteItem(keyOf(item))),
  ]);
  if (blockedUntil === undefined) return;
  const blocked = { blocked_at: timestamp(), expires_at: blockedUntil };
  await putItem<Item>({ ...loginUserKey(person), parse: asItIs }, blocked);
}
