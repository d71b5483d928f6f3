import { devicesOfLoginAppShard } from '../storage/keys.ts';
import { shardNumberOf } from '../storage/shards.ts';

/** The shard of a device. */
export const shardOf = (loginAppId: string, deviceId: string): string =>
  devicesOfLoginAppShard(loginAppId, shardNumberOf(deviceId));
