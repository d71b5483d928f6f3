import { createHash } from 'node:crypto';

/** The one table, as data. Local indexes can't be added later. */
export const table = {
  partitionKey: 'pk',
  sortKey: 'sk',
  timeToLive: 'expires_at',
  /**
   * Strongly consistent lists of an access request's events, and of the access requests of an
   * account.
   */
  localIndexes: {
    by_actor_type: { sortKey: 'actor_type_ordinal', projection: 'ALL' },
    by_actor_id: { sortKey: 'actor_id_ordinal', projection: 'ALL' },
    by_actor: { sortKey: 'actor_ordinal', projection: 'ALL' },
    by_review: { sortKey: 'review_ordinal', projection: 'ALL' },
    by_idempotency_key: { sortKey: 'idempotency_key', projection: 'KEYS_ONLY' },
  },
  /**
   * Eventually consistent lists across partitions. Code that decides by one reads the items again.
   */
  globalIndexes: {
    by_list: { partitionKey: 'list', sortKey: 'list_position', projection: 'KEYS_ONLY' },
    by_shard: { partitionKey: 'shard', sortKey: 'shard_position', projection: 'ALL' },
  },
} as const;

export type LocalIndex = keyof typeof table.localIndexes;
export type GlobalIndex = keyof typeof table.globalIndexes;

type IndexAttribute =
  | (typeof table.localIndexes)[LocalIndex]['sortKey']
  | (typeof table.globalIndexes)[GlobalIndex]['partitionKey' | 'sortKey'];

/**
 * The attributes that place an item in indexes, and the epoch seconds at which the table deletes
 * it.
 */
export type Placement = { [Name in IndexAttribute]?: string | undefined } & {
  [Name in typeof table.timeToLive]?: number | undefined;
};

/** The shards of a large list, so that no partition takes all its traffic. */
export const shards: readonly number[] = Array.from({ length: 16 }, (_, shard) => shard);

/** The shard of a member of such a list. */
export function shardNumberOf(id: string): number {
  const [firstByte = 0] = createHash('sha256').update(id).digest();
  return firstByte % shards.length;
}
