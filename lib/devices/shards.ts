import { createHash } from 'node:crypto';
import { devicesOfLoginAppShard } from '../storage/keys.ts';

/** How many shards the devices of a Login App are read and written in, so that no partition takes all the traffic. */
const shardCount = 16;

/** The numbers of the shards, for workers to share out. */
export const shards: readonly number[] = Array.from({ length: shardCount }, (_, shard) => shard);

/** The shard of a device. */
export const shardOf = (loginAppId: string, deviceId: string): string => {
  const [firstByte = 0] = createHash('sha256').update(deviceId).digest();
  return devicesOfLoginAppShard(loginAppId, firstByte % shardCount);
};
