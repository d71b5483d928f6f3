import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as v from 'valibot';
import { isoTime } from '../foundation/clock.ts';
import { optionalEnvironment } from '../foundation/environment.ts';
import { firstIdentityId } from '../login-users/linked-identity.ts';
import {
  begunItem,
  countersIn,
  endWithOthers,
  lastSessionIdOf,
} from '../login-users/sessions-of-person.ts';
import type { Item } from '../storage/items.ts';
import { hashOf, loginUserPartition } from '../storage/keys.ts';
import { probeIds } from '../storage/probe-ids.ts';
import { type PublishedEventType, publishedEvents } from './published-events.ts';

/** An item as DynamoDB writes it: `{"pk": {"S": "DEVICE#d_kP0…"}, …}`. */
const imageSchema = v.record(
  v.string(),
  v.custom<AttributeValue>((value) => typeof value === 'object' && value !== null),
);

/**
 * A change of one item.
 * @see Amazon DynamoDB Streams API reference, "Record"
 */
const streamRecordSchema = v.object({
  /** The id of the record, whenever it is read. */
  eventID: v.string(),
  eventName: v.picklist(['INSERT', 'MODIFY', 'REMOVE']),
  /** The author of the change, if DynamoDB removed an expired item. */
  userIdentity: v.nullish(v.object({ principalId: v.string() })),
  dynamodb: v.object({
    /** Digits that grow with each change of an item. */
    SequenceNumber: v.string(),
    /** Epoch seconds. */
    ApproximateCreationDateTime: v.number(),
    Keys: imageSchema,
    OldImage: v.optional(imageSchema),
    NewImage: v.optional(imageSchema),
  }),
});
export type StreamRecord = v.InferOutput<typeof streamRecordSchema>;

export const streamBatchSchema = v.object({ Records: v.array(streamRecordSchema) });

export const eventSource = 'login-service';

export interface EventEntry {
  type: PublishedEventType;
  occurredAt: Date;
  detail: Record<string, unknown>;
}

/**
 * The principal that removes expired items.
 * @see Amazon DynamoDB developer guide, "DynamoDB Streams and Time to Live"
 */
const timeToLive = 'dynamodb.amazonaws.com';

/**
 * The events of a change, often none, and the same each time.
 * @throws Error when the item is not as the service writes it
 */
export function entriesOf({ eventID, userIdentity, dynamodb }: StreamRecord): EventEntry[] {
  const { Keys, OldImage, NewImage, SequenceNumber, ApproximateCreationDateTime } = dynamodb;
  const { pk, sk } = v.parse(v.object({ pk: v.string(), sk: v.string() }), unmarshall(Keys));
  // The person who logs in while a new version is checked.
  if (pk.startsWith(loginUserPartition(probeIds.loginUser))) return [];
  const events = domainEventsOf(sk, {
    before: OldImage && unmarshall(OldImage),
    after: NewImage && unmarshall(NewImage),
    isExpiry: userIdentity?.principalId === timeToLive,
  });
  const isShown = optionalEnvironment('EXTERNAL_ID_IN_EVENTS') === 'true';
  const occurredAt = new Date(ApproximateCreationDateTime * 1000);
  return events.map(({ type, item }, place) => ({
    type,
    occurredAt,
    detail: v.parse(publishedEvents[type].detail, {
      ...item,
      external_id: isShown ? item.external_id : undefined,
      id: `pe_${hashOf(eventID, type)}`,
      sequence: `${SequenceNumber.padStart(40, '0')}.${place}`,
      occurred_at: occurredAt.toISOString(),
    }),
  }));
}

/** An item before and after a change; undefined while it does not exist. */
interface Change {
  before: Item | undefined;
  after: Item | undefined;
  isExpiry: boolean;
}

/** An event, and the attributes from which its schema picks what is published. */
interface DomainEvent {
  type: PublishedEventType;
  item: Item;
}

/** The events of a change to an item of one kind, in order. */
type Projection = (change: Change) => DomainEvent[];

const when = (
  condition: unknown,
  type: PublishedEventType,
  item: Item | undefined,
): DomainEvent[] => (condition && item ? [{ type, item }] : []);

const gained = (attribute: string, { before, after }: Change): boolean =>
  after?.[attribute] !== undefined && before?.[attribute] === undefined;

const differs = (attribute: string, { before, after }: Change) =>
  before?.[attribute] !== after?.[attribute];

/**
 * The item, if it is that of an existing Login User, with the time of their creation and none of
 * their deletion.
 */
const existing = (item: Item | undefined): Item | undefined =>
  item?.created_at !== undefined && item.deleted_at === undefined ? item : undefined;

const loginUser: Projection = (change) => {
  const before = existing(change.before);
  const after = existing(change.after);
  return [
    ...when(!before, 'login_user.created', after),
    ...when(after && differs('last_session_id', change), 'login_user.logged_in', {
      ...after,
      provider: after?.last_provider,
      session_id: lastSessionIdOf(countersIn(after)),
      logged_in_at: after?.last_login_at,
    }),
    ...when(after && differs('sessions_ended_at', change), 'login_user.sessions_ended', {
      ...after,
      ended_at: after?.sessions_ended_at,
      kept_session_id: after?.sessions_ended_except,
    }),
    ...when(gained('blocked_at', change), 'login_user.blocked', after),
    ...when(after?.hijacked_at && differs('hijacked_at', change), 'login_user.hijacked', after),
    // The index item of an identity leads to the Login User that it is linked to.
    ...when(
      change.before?.linked_to && change.after && differs('identity_id', change),
      'identity.unlinked',
      {
        login_user_id: change.before?.linked_to,
        identity_id: change.before?.identity_id,
      },
    ),
    ...when(change.after?.linked_to && differs('identity_id', change), 'identity.linked', {
      login_user_id: change.after?.linked_to,
      identity_id: change.after?.identity_id,
    }),
    ...when(
      before?.subject !== undefined && after && after.subject === undefined,
      'identity.unlinked',
      {
        ...after,
        identity_id: firstIdentityId(String(after?.login_user_id)),
      },
    ),
    ...when(!after, 'login_user.deleted', before),
  ];
};

/**
 * A session ends by `ended_at`, by expiry, or when another session takes its place, which tells
 * whether it had expired or ended with others before. No event for one that is deleted with its
 * Login User, or whose tokens were never issued.
 */
const session: Projection = (change) => {
  const { before, after, isExpiry } = change;
  const isReplaced = before && after && differs('session_id', change);
  const gone = (isExpiry || isReplaced) && before?.ended_at === undefined ? before : undefined;
  const endedAt = gone && after && endWithOthers(after, v.parse(begunItem, gone));
  const expiredAt = gone && (endedAt ?? isoTime(v.parse(v.number(), gone.expires_at)));
  const isExpired =
    isExpiry || endedAt !== undefined || String(expiredAt) <= String(after?.created_at);
  return [
    ...when(gained('ended_at', change), 'session.ended', {
      ...after,
      reason: after?.end_reason ?? 'ended',
    }),
    ...when(gone, 'session.ended', {
      ...gone,
      reason: isExpired ? 'expired' : 'ended',
      ended_at: isExpired ? expiredAt : after?.created_at,
    }),
  ];
};

const device: Projection = (change) => {
  const { before, after } = change;
  const isOthers = differs('login_user_id', change) || differs('login_user_since', change);
  const isEnabled = before?.disabled_at !== undefined && after?.disabled_at === undefined;
  const isMoved = before?.login_user_id && after?.login_user_id && differs('login_user_id', change);
  const registered = after && { ...after, registered_at: after.last_seen_at };
  return [
    ...when(!before || isEnabled, 'device.registered', registered),
    ...when(isOthers && before?.login_user_id, 'device.relation_ended', before),
    ...when(isOthers && after?.login_user_id, 'device.related', after),
    ...when(isMoved, 'device.moved', { ...after, former_login_user_id: before?.login_user_id }),
    ...when(gained('disabled_at', change), 'device.disabled', after),
  ];
};

const accessRequest: Projection = (change) => {
  const { before, after } = change;
  return [
    ...when(!before, 'access_request.created', after && { ...after, expires_at: after.open_until }),
    ...when(gained('decision', change), 'access_request.decided', {
      ...after,
      approvals: Array.isArray(after?.approvers) ? after.approvers.length : 0,
    }),
  ];
};

/** Comments and reviews; they are never changed. */
const event: Projection = ({ before, after }) =>
  when(!before, 'event.added', after && { ...after, event_id: after.id });

/** Projections by the kind of item, the first part of its sort key. */
const projections = new Map<string, Projection>([
  ['LOGIN_USER', loginUser],
  ['SESSION', session],
  ['DEVICE', device],
  ['ACCESS_REQUEST', accessRequest],
  ['EVENT', event],
]);

/** The kinds of items whose changes may publish something. A sort key is one, or begins with it. */
export const publishedKinds = [...projections.keys()];

export function domainEventsOf(sortKey: string, change: Change): DomainEvent[] {
  const [kind = ''] = sortKey.split('#');
  return projections.get(kind)?.(change) ?? [];
}
