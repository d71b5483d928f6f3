import {
  accessRequestPartition,
  actorIdList,
  actorList,
  actorTypeList,
  eventList,
  reviewList,
} from '../storage/keys.ts';
import type { DenseList } from '../storage/lists.ts';
import type { LocalIndex } from '../storage/table.ts';
import type { AccessRequestEvent } from './event.ts';

const listIn = (accessRequestId: number, name: string, index?: LocalIndex): DenseList => ({
  pk: accessRequestPartition(accessRequestId),
  ...(index && { index }),
  name,
});

/** Every event of an access request. */
export const allEvents = (accessRequestId: number) => listIn(accessRequestId, eventList);
export const eventsOfActorType = (accessRequestId: number, actorType: string) =>
  listIn(accessRequestId, actorTypeList(actorType), 'by_actor_type');
export const eventsOfActorId = (accessRequestId: number, actorId: string) =>
  listIn(accessRequestId, actorIdList(actorId), 'by_actor_id');
export const eventsOfActor = (accessRequestId: number, actorType: string, actorId: string) =>
  listIn(accessRequestId, actorList(actorType, actorId), 'by_actor');
export const allReviews = (accessRequestId: number) => listIn(accessRequestId, reviewList, 'by_review');

/** The lists that an event is in, apart from the list of all events. */
export const listsOf = (
  accessRequestId: number,
  { type, actor_type, actor_id }: Pick<AccessRequestEvent, 'type' | 'actor_type' | 'actor_id'>,
): DenseList[] => [
  eventsOfActorType(accessRequestId, actor_type),
  eventsOfActorId(accessRequestId, actor_id),
  eventsOfActor(accessRequestId, actor_type, actor_id),
  ...(type === 'review' ? [allReviews(accessRequestId)] : []),
];
