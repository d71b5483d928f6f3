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
export function moveTokens(identities: MovedIdentities, givenUp: Item, kept: Item): MovedTokens {
  const set: Record<string, object> = {};
  const moved = new Set<string>();
  let room = mostStored - numberOfStoredTokens(kept);

  for (const { from, to } of tokensOf(identities, givenUp)) {
    const token = givenUp[from];
    if (typeof token !== 'object' || token === null) continue;
    const needed = numberOfTokensIn(token);
    if (needed > room) continue;
    room -= needed;
    set[to] = token;
    moved.add(from);
  }

  const left = storedTokensIn(givenUp).filter((attribute) => !moved.has(attribute));
  return { set, left };
}

const storedTokensIn = (item: Item): string[] => Object.keys(item).filter(isStoredToken);

/**
 * The tokens of identities that come, by their attributes: of the person who is given up, and of the
 * one who gets them. The current tokens come first, then those that they have replaced, whose
 * attributes have more behind the id of the identity.
 */
function tokensOf({ moves }: MovedIdentities, givenUp: Item): { from: string; to: string }[] {
  const { providerToken } = identityAttributes;
  const stored = storedTokensIn(givenUp);
  const tokens = moves.flatMap(({ before, after }) => {
    const prefix = providerToken(before.identity_id);
    const newPrefix = providerToken(after.identity_id);
    const ofIdentity = stored.filter((attribute) => attribute.startsWith(prefix));
    return ofIdentity.map((from) => {
      const rest = from.slice(prefix.length);
      return { from, to: `${newPrefix}${rest}`, rest };
    });
  });
  return tokens.toSorted((a, b) => a.rest.length - b.rest.length);
}
