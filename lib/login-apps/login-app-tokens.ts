import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { loginAppTokenForm, newId } from '../foundation/ids.ts';
import { annotateLog } from '../log/request-fields.ts';
import { equalInConstantTime, newSecret, sha256 } from '../secrets/secrets.ts';
import { cached } from '../storage/cache.ts';
import { deleteItem, type ItemOf, itemKind, putItem, readItem } from '../storage/items.ts';
import { loginAppTokenKey } from '../storage/keys.ts';

export const loginAppTokenItem = itemKind(
  v.object({ token_id: v.string(), name: v.string(), sha256: v.string(), created_at: v.string() }),
  loginAppTokenKey,
);
export type StoredLoginAppToken = ItemOf<typeof loginAppTokenItem>;

/**
 * Creates a Login App Token to ship inside a mobile app, which can't keep a client secret: `LOGIN_APP_ID.TOKEN_ID.SECRET`. It is
 * no JWT, since signing keys rotate, and counts until it is revoked.
 */
export async function createLoginAppToken(loginAppId: string, name: string) {
  const token_id = newId('t');
  const secret = newSecret('las');
  const created = { token_id, name, sha256: sha256(secret), created_at: timestamp() };
  await putItem(loginAppTokenItem(loginAppId, token_id), created, { ifAbsent: true });
  return { token_id, login_app_token: `${loginAppId}.${token_id}.${secret}` };
}

export const revokeLoginAppToken = (loginAppId: string, tokenId: string): Promise<void> =>
  deleteItem(loginAppTokenItem(loginAppId, tokenId));

export const isLongLived = (token: string): boolean => loginAppTokenForm.test(token);

const findToken = cached((loginAppId: string, tokenId: string) =>
  readItem(loginAppTokenItem(loginAppId, tokenId)),
);

/** The id of the Login App of a long-lived token; undefined when it is not one of its tokens. */
export async function authenticateLoginAppToken(token: string): Promise<string | undefined> {
  const [loginAppId = '', tokenId = '', secret = ''] = token.split('.');
  const digest = sha256(secret);
  const isToken = (stored: StoredLoginAppToken) => equalInConstantTime(digest, stored.sha256);
  annotateLog({ token_id: tokenId });
  const stored = await findToken([loginAppId, tokenId], isToken);
  return stored && isToken(stored) ? loginAppId : undefined;
}
