import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { isId, newId } from '../foundation/ids.ts';
import { annotateLog } from '../log/request-fields.ts';
import { equalInConstantTime, newSecret, sha256 } from '../secrets/secrets.ts';
import { cached } from '../storage/cache.ts';
import { type ItemOf, itemKind, putItem, readItem } from '../storage/items.ts';
import { loginAppTokenKey } from '../storage/keys.ts';

export const loginAppTokenItem = itemKind(
  v.object({ token_id: v.string(), name: v.string(), sha256: v.string(), created_at: v.string() }),
  loginAppTokenKey,
);
export type StoredLoginAppToken = ItemOf<typeof loginAppTokenItem>;

/**
 * Creates a long-lived Login App Token to ship inside a mobile app. It is no JWT, since signing
 * keys rotate.
 */
export async function createLoginAppToken(login_app_id: string, name: string) {
  const token_id = newId('t');
  const secret = newSecret('las');
  const created = { token_id, name, sha256: sha256(secret), created_at: timestamp() };
  await putItem(loginAppTokenItem(login_app_id, token_id), created, { ifAbsent: true });
  return { login_app_id, token_id, login_app_token: `${login_app_id}.${token_id}.${secret}` };
}

/** The form of a long-lived Login App Token: `LOGIN_APP_ID.TOKEN_ID.SECRET` */
const loginAppTokenForm = /^la_[\w-]{22}\.t_[\w-]{22}\.las_[\w-]{43}$/;

export const isLongLived = (token: string): boolean => loginAppTokenForm.test(token);

const tokens = cached(
  (loginAppId: string, tokenId: string) => isId('la_…', loginAppId) && isId('t_…', tokenId),
  (loginAppId: string, tokenId: string) => readItem(loginAppTokenItem(loginAppId, tokenId)),
);

/** The id of the Login App of a long-lived token; undefined if the Login App has no such token. */
export async function authenticateLoginAppToken(token: string): Promise<string | undefined> {
  const [loginAppId = '', tokenId = '', secret = ''] = token.split('.');
  const digest = sha256(secret);
  const isToken = (stored: StoredLoginAppToken) => equalInConstantTime(digest, stored.sha256);
  annotateLog({ token_id: tokenId });
  const stored = await tokens.findGranting([loginAppId, tokenId], isToken);
  return stored && isToken(stored) ? loginAppId : undefined;
}
