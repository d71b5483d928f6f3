import * as v from 'valibot';
import {
  firstIdentityId,
  identityAttributes,
  linkedIdentitiesIn,
} from '../../login-users/linked-identity.ts';
import { loginUserItem } from '../../login-users/login-user.ts';
import { listAttributes } from '../../login-users/people-of-login-app.ts';
import { authorizationCodeProvider as provider } from '../../providers/provider-ids.ts';
import { type Item, readItem, updateItem } from '../../storage/items.ts';
import { revokeToken, type TokenPlace } from './revoke-token.ts';
import { isStoredToken, readToken } from './stored-token.ts';

const ownerSchema = v.object({ login_user_id: v.string(), login_app_id: v.string() });

/** Numbers of tokens that were revoked, and that are still to be revoked. */
export interface Revocations {
  revoked: number;
  not_revoked: number;
}

/**
 * Revokes a Login User's tokens of providers: all of a deleted one, otherwise those of identities that they have
 * unlinked. One that is revoked is removed; one that is not stays, and the log says why.
 */
export async function revokeStoredTokens(item: Item): Promise<Revocations> {
  const names = unneededTokensIn(item);
  if (names.length === 0) return { revoked: 0, not_revoked: 0 };
  const { login_user_id, login_app_id: loginAppId } = v.parse(ownerSchema, item);
  const place: TokenPlace = { loginAppId, provider };
  const outcomes = await Promise.all(
    names.map(async (attribute) => {
      if (!(await revokeToken(login_user_id, place, () => readToken(item[attribute], place)))) return false;
      await updateItem(loginUserItem(login_user_id), {
        remove: [attribute],
        when: { [attribute]: { exists: true } },
      });
      return true;
    }),
  );
  const revoked = outcomes.filter(Boolean).length;
  return { revoked, not_revoked: outcomes.length - revoked };
}

/** The attributes with tokens that no identity of theirs needs any longer. */
function unneededTokensIn(item: Item): string[] {
  const kept = Object.keys(item).filter(isStoredToken);
  if (item.deleted_at !== undefined) return kept;
  const ids = linkedIdentitiesIn(item).map(({ identity_id }) => identity_id);
  if (item.subject !== undefined) ids.push(firstIdentityId(String(item.login_user_id)));
  const needed = ids.map(identityAttributes.storedToken);
  return kept.filter((name) => !needed.some((start) => name.startsWith(start)));
}

/** Tries again for a Login User, deleted or not; undefined when there is and was none. */
export async function retryRevocations(loginUserId: string): Promise<Revocations | undefined> {
  const item = await readItem(loginUserItem(loginUserId));
  if (!(item?.deleted_at || item?.created_at)) return undefined;
  const outcome = await revokeStoredTokens(item);
  // An interrupted deletion is left to be finished by another.
  if (outcome.not_revoked === 0 && item.list !== undefined && item.created_at === undefined) {
    await updateItem(loginUserItem(loginUserId), {
      remove: [...listAttributes],
      when: { created_at: { exists: false }, list: { exists: true } },
    });
  }
  return outcome;
}
