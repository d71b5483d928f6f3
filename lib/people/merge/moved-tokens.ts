import { identityAttributes } from '../../login-users/linked-identity.ts';
import type { Item } from '../../storage/items.ts';
import { mostStored } from '../identities/store-token.ts';
import {
  isStoredToken,
  numberOfStoredTokens,
  numberOfTokensIn,
} from '../identities/stored-token.ts';
import type { MovedIdentities } from './moved-identities.ts';

/** The stored provider tokens that come with identities. */
export interface MovedTokens {
  /** The attributes of the person who gets them. */
  set: Record<string, object>;
  /** The attributes with tokens that stay with the person who is given up, to be revoked. */
  left: string[];
}

/**
 * Decides which stored provider tokens come with the identities. They are encrypted for the settings
 * of a provider, not for a person, so they are copied as they are. The others stay, to be revoked:
 * those of identities that do not come, and those beyond the most that a person may have.
 */
export function moveTokens({ moves }: MovedIdentities, givenUp: Item, kept: Item): MovedTokens {
  const { providerToken } = identityAttributes;
  const stored = Object.keys(givenUp).filter(isStoredToken);
  let room = mostStored - numberOfStoredTokens(kept);
  const set: Record<string, object> = {};
  const isMoved = new Set<string>();
  const wanted = moves.flatMap(({ before, after }) => {
    const former = providerToken(before.identity_id);
    return stored
      .filter((attribute) => attribute.startsWith(former))
      .map((attribute) => ({ attribute, rest: attribute.slice(former.length), after }));
  });
  // The current tokens come first, then those that they have replaced.
  const inOrder = wanted.toSorted((a, b) => a.rest.length - b.rest.length);
  for (const { attribute, rest, after } of inOrder) {
    const token = givenUp[attribute];
    const needed = numberOfTokensIn(token);
    if (typeof token !== 'object' || token === null || needed > room) continue;
    room -= needed;
    set[`${providerToken(after.identity_id)}${rest}`] = token;
    isMoved.add(attribute);
  }
  return { set, left: stored.filter((attribute) => !isMoved.has(attribute)) };
}
