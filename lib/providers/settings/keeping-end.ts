import * as v from 'valibot';
import { isId } from '../../foundation/ids.ts';
import { cached } from '../../storage/cache.ts';
import { type ItemOf, itemKind, readItem } from '../../storage/items.ts';
import { keepingEndKey } from '../../storage/keys.ts';
import { type ProviderId, providerIds } from '../provider-ids.ts';
import type { StoredSettings } from './encryption.ts';

/**
 * A provider, or an issuer of one, whose settings no longer keep the tokens of people, or name the
 * token endpoint of another host. It is written
 * with the change of the settings, and stays until the tokens are forgotten.
 */
export const keepingEndItem = itemKind(
  v.object({
    login_app_id: v.string(),
    provider: v.picklist(providerIds),
    /** Absent where the provider has only one exchange. */
    issuer: v.optional(v.string()),
    /** The host of the token endpoint that gave the tokens. */
    host: v.string(),
    /** The provider's settings before the change, by which the tokens are revoked. */
    settings: v.record(v.string(), v.unknown()),
    /** Epoch seconds of the change. */
    ended_at: v.number(),
    /** The list of people that is read next, and the place in it; absent at its beginning. */
    list_number: v.number(),
    start: v.optional(v.record(v.string(), v.string())),
    /** Whether anybody in the lists so far had such tokens, and whether some were not revoked. */
    has_found: v.boolean(),
    has_failed: v.boolean(),
    /** Changes with every write, for conditional writes. */
    revision: v.string(),
  }),
  keepingEndKey,
);
export type KeepingEnd = ItemOf<typeof keepingEndItem>;

/**
 * Settings of a provider that kept tokens until lately, up to 30 s old; undefined when their tokens
 * are forgotten.
 * @param issuer empty where the provider has only one exchange
 */
export const { find: findEarlierSettings } = cached(
  (loginAppId: string, _provider: ProviderId, _host: string, _issuer: string) =>
    isId('la_…', loginAppId),
  async (loginAppId, provider, host, issuer): Promise<StoredSettings | undefined> => {
    const item = await readItem(keepingEndItem(loginAppId, provider, host, issuer));
    return item && { settings: item.settings, place: { loginAppId, provider } };
  },
  { deniedFor: 0 },
);
