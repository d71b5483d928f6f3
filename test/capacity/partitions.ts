import { shards } from '../../lib/storage/shards.ts';
import type { MeasuredRequests } from './requests.ts';
import type { Place } from './written.ts';

/**
 * Write units that a partition gives in a second; nobody can raise them.
 * @see Amazon DynamoDB developer guide, "Best practices for designing and using partition keys effectively"
 */
export const partitionWriteUnits = 1000;

/** Requests that write to the same partitions, however many people send them. */
interface PartitionEnd {
  requests: string;
  place: Place;
  /** How many partitions share the writes. */
  partitions: number;
  /** Write units that one request takes of one of them. */
  units: number;
  /** The most of these requests in a second. */
  most: number;
}

/** Lists the rates at which one partition, or the shards of one list, can take no more writes. */
export function partitionEnds(measured: MeasuredRequests): PartitionEnd[] {
  const end =
    (place: Place, partitions: number) =>
    (requests: string, { cost }: MeasuredRequests['login']): PartitionEnd => {
      const units = cost.written[place]?.busiest;
      if (!units) throw new Error(`${requests} write nothing to ${place}.`);
      const most = Math.floor((partitions * partitionWriteUnits) / units);
      return { requests, place, partitions, units, most };
    };
  const people = end('by_list', shards.length);
  const devices = end('by_shard', shards.length);
  const one = end('table', 1);
  return [
    people('first logins of one Login App', measured.firstLogin),
    devices('first registrations of one Login App', measured.registration),
    devices('repeated registrations of one Login App', measured.again),
    devices('relations of one Login App', measured.relation),
    one('logins of one person', measured.login),
    one('refreshes of one person', measured.refresh),
    end('by_list', 1)('links of identities, in one list while under way, as deletions are', measured.link),
    end('by_list', 1)('new access requests, all in one list', measured.accessRequest),
    one('comments on one access request', measured.comment),
    one('reviews of one access request', measured.review),
  ];
}
