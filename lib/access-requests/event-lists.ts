import {
  accessRequestPartition,
  actorIdList,
  actorList,
  actorTypeList,
  eventList,
  reviewList,
} from '../storage/keys.ts';
import type { DenseList } from '../storage/lists.ts';
import type { AccessRequestEvent } from './event.ts';

/** Every event of an access request. */
export const allEvents = (accessRequestId: number): DenseList => ({
  pk: accessRequestPartition(accessRequestId),
  name: eventList,
});

export const eventsOfActorType = (accessRequestId: number, actorType: string): DenseList => ({
  pk: accessRequestPartition(accessRequestId),
  index: 'by_actor_type',
  name: actorTypeList(actorType),
});

export const eventsOfActorId = (accessRequestId: number, actorId: string): DenseList => ({
  pk: accessRequestPartition(accessRequestId),
  index: 'by_actor_id',
  name: actorIdList(actorId),
});

export const eventsOfActor = (accessRequestId: number, actorType: string, actorId: string): DenseList => ({
  pk: accessRequestPartition(accessRequestId),
  index: 'by_actor',
  name: actorList(actorType, actorId),
});

export const allReviews = (accessRequestId: number): DenseList => ({
  pk: accessRequestPartition(accessRequestId),
  index: 'by_review',
  name: reviewList,
});

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
