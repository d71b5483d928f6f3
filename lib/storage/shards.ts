import { createHash } from 'node:crypto';

/** The number of shards that a large list is read and written in, so that no partition takes all the traffic. */
const shardCount = 16;

/** The numbers of the shards, for workers to share out. */
export const shards: readonly number[] = Array.from({ length: shardCount }, (_, shard) => shard);

/** The shard of a member of such a list. */
export function shardNumberOf(id: string): number {
  const [firstByte = 0] = createHash('sha256').update(id).digest();
  return firstByte % shardCount;
}
