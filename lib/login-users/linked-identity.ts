import * as v from 'valibot';
import type { Item } from '../storage/items.ts';

/** An identity that a Login User has linked, as an attribute of their item. */
const linkedIdentity = v.object({
  identity_id: v.string(),
  /** The slot that leads to the Login User with it. */
  slot: v.string(),
  provider: v.string(),
  namespace: v.string(),
  subject: v.string(),
  linked_at: v.string(),
});

/** A linked identity with the time of its latest login, an attribute of its own that is absent before the first one. */
export type LinkedIdentity = v.InferOutput<typeof linkedIdentity> & { last_login_at?: string };

/** The attributes of a Login User that are about one identity. Each login and each linking writes only its own. */
export const identityAttributes = {
  linked: (identityId: string): string => `identity_${identityId}`,
  lastLogin: (identityId: string): string => `last_login_of_${identityId}`,
  /** A refresh token of the provider, kept to be revoked. */
  keptToken: (identityId: string): string => `kept_token_of_${identityId}`,
};

/** Every attribute of a Login User that is about a linked identity. */
export const attributesOf = (identityId: string): string[] =>
  Object.values(identityAttributes).map((nameOf) => nameOf(identityId));

/** The linked identities of a Login User's item. */
export function linkedIdentitiesIn(item: Item): LinkedIdentity[] {
  return Object.entries(item)
    .filter(([name]) => name.startsWith(identityAttributes.linked('')))
    .map(([, value]) => {
      const identity = v.parse(linkedIdentity, value);
      const lastLogin = item[identityAttributes.lastLogin(identity.identity_id)];
      return { ...identity, ...(typeof lastLogin === 'string' && { last_login_at: lastLogin }) };
    });
}
