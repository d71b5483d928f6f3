import { loginUserKey, loginUsersOfLoginAppShard } from '../storage/keys.ts';
import { hasItemWith } from '../storage/lists.ts';
import { shardNumberOf, shards } from '../storage/table.ts';

/**
 * The place of a Login User in the list of their Login App's people, written at their first login only: later logins
 * don't touch the index.
 */
export const placeAmongPeople = (
  { login_user_id, login_app_id }: { login_user_id: string; login_app_id: string },
  now: string,
) => ({ list: loginUsersOfLoginAppShard(login_app_id, shardNumberOf(login_user_id)), list_position: now });

export const listAttributes = ['list', 'list_position'] as const;

/** The lists that the people of a Login App are spread over. */
export const peopleLists = (loginAppId: string): string[] =>
  shards.map((shard) => loginUsersOfLoginAppShard(loginAppId, shard));

/** Whether a person is one of a Login App. For a person of another one it costs what it costs for nobody. */
export const isOfLoginApp = (loginUserId: string, loginAppId: string): Promise<boolean> =>
  hasItemWith(loginUserKey(loginUserId), 'login_app_id', loginAppId);
