import * as v from 'valibot';
import { isoTime } from '../foundation/clock.ts';
import { firstIdentityId, identityAttributes } from '../login-users/linked-identity.ts';
import {
  begunItem,
  countersIn,
  endWithOthers,
  lastSessionIdOf,
} from '../login-users/sessions-of-person.ts';
import { authorizationCodeProvider } from '../providers/provider-ids.ts';
import type { Item } from '../storage/items.ts';
import { absent, type ChangePattern, present } from './change-pattern.ts';
import type { PublishedEventType } from './published-events.ts';

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

/** An event with the attributes of an item, if a condition is met and there is the item. */
const when = (
  condition: unknown,
  type: PublishedEventType,
  item: Item | undefined,
): DomainEvent[] => (condition && item ? [{ type, item }] : []);

/** Whether a change gives an item an attribute that it did not have. */
const gained = (attribute: string, { before, after }: Change): boolean =>
  after?.[attribute] !== undefined && before?.[attribute] === undefined;

const differs = (attribute: string, { before, after }: Change): boolean =>
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
  const hasLoggedIn = after && differs('last_session_id', change);
  const haveSessionsEnded = after && differs('sessions_ended_at', change);
  const isPromoted = after && before?.guest_until !== undefined && after.guest_until === undefined;
  const isHijacked = after?.hijacked_at && differs('hijacked_at', change);
  const isMailOff = after?.email_disabled_at && differs('email_disabled_at', change);
  const isMailOn = after?.email_enabled_at && differs('email_enabled_at', change);
  return [
    ...when(!before, 'login_user.created', after && { ...after, guest: guestIn(after) }),
    ...when(hasLoggedIn, 'login_user.logged_in', {
      ...after,
      provider: after?.last_provider,
      guest: after && guestIn(after),
      session_id: lastSessionIdOf(countersIn(after)),
      logged_in_at: after?.last_login_at,
    }),
    ...when(haveSessionsEnded, 'login_user.sessions_ended', {
      ...after,
      ended_at: after?.sessions_ended_at,
      kept_session_id: after?.sessions_ended_except,
    }),
    ...when(gained('blocked_at', change), 'login_user.blocked', after),
    ...when(isHijacked, 'login_user.hijacked', after),
    ...when(isMailOff, 'login_user.email_disabled', after),
    ...when(isMailOn, 'login_user.email_enabled', after),
    ...when(isPromoted, 'login_user.promoted', before),
    ...identityEvents(change),
    ...endedAccess(change),
    ...gone(change),
  ];
};

/** The mark of a guest, who has no login with a provider. */
const guestIn = ({ guest_until, last_provider }: Item): true | undefined => {
  const isGuest = guest_until !== undefined && last_provider === undefined;
  return isGuest || undefined;
};

/** The event of a person who is gone: deleted, or merged into another one. */
const gone: Projection = ({ before, after }) => {
  if (existing(after)) return [];
  const person = existing(before);
  const { merged_into } = after ?? {};
  return merged_into === undefined
    ? when(true, 'login_user.deleted', person)
    : when(true, 'login_user.merged', person && { ...person, merged_into });
};

/** The events of a further identity, and of the first one, which is part of the Login User. */
const identityEvents: Projection = (change) => {
  const { before, after } = change;
  // The index item of a further identity leads to the Login User that it is linked to.
  const isOther = differs('identity_id', change);
  const isUnlinked = before?.linked_to && after && isOther;
  const isLinked = after?.linked_to && isOther;

  const userBefore = existing(before);
  const userAfter = existing(after);
  const hadFirst = userBefore?.subject !== undefined;
  const isFirstUnlinked = hadFirst && userAfter && userAfter.subject === undefined;
  return [
    ...when(isUnlinked, 'identity.unlinked', {
      login_user_id: before?.linked_to,
      identity_id: before?.identity_id,
    }),
    ...when(isLinked, 'identity.linked', {
      login_user_id: after?.linked_to,
      identity_id: after?.identity_id,
    }),
    ...when(isFirstUnlinked, 'identity.unlinked', {
      ...userAfter,
      identity_id: firstIdentityId(String(userAfter?.login_user_id)),
    }),
  ];
};

/**
 * The access to providers that a person has lost. Each write ends one at most, so that no two events
 * of a change have one type.
 */
const endedAccess: Projection = (change) => {
  const before = existing(change.before);
  const after = existing(change.after);
  if (!before || !after) return [];
  return Object.keys(before).flatMap((attribute) => {
    const [, identity_id] = keptToken.exec(attribute) ?? [];
    const { since, provider = authorizationCodeProvider } = keptIn(before, attribute);
    const isKept = keptIn(after, attribute).since !== undefined;
    const item = { ...after, identity_id, since, provider };
    return when(identity_id && since && !isKept, 'provider_access.ended', item);
  });
};

/** The attribute of a Login User with the token that is kept with an identity. */
const keptToken = new RegExp(`^${identityAttributes.providerToken('')}(i_[\\w-]+)$`);

const keptIn = (item: Item, attribute: string) =>
  v.parse(v.fallback(keptSchema, {}), item[attribute]);
const keptSchema = v.object({ since: v.optional(v.string()), provider: v.optional(v.string()) });

/**
 * A session ends when it gets `ended_at`, when the table deletes it because it has expired, or when
 * another session replaces it. There is no event for one that is deleted with its Login User, or
 * whose tokens were never issued.
 */
const session: Projection = (change) => {
  const { before, after, isExpiry } = change;
  const isReplaced = before && after && differs('session_id', change);
  const isGone = isExpiry || isReplaced;
  // One with `ended_at` has had its event.
  const gone = isGone && before?.ended_at === undefined ? before : undefined;
  return [
    ...when(gained('ended_at', change), 'session.ended', {
      ...after,
      reason: after?.end_reason ?? 'ended',
    }),
    ...when(gone, 'session.ended', gone && { ...gone, ...endOf(gone, change) }),
  ];
};

/**
 * The end of a session that is gone from the table. The session that has replaced it tells whether
 * it had ended with others before.
 */
function endOf(gone: Item, { after, isExpiry }: Change): { reason: string; ended_at: unknown } {
  const endedWithOthersAt = after && endWithOthers(after, v.parse(begunItem, gone));
  if (endedWithOthersAt !== undefined) return { reason: 'expired', ended_at: endedWithOthersAt };
  const expiresAt = isoTime(v.parse(v.number(), gone.expires_at));
  const wasExpired = isExpiry || expiresAt <= String(after?.created_at);
  if (wasExpired) return { reason: 'expired', ended_at: expiresAt };
  // It was still valid: the login that has replaced it has ended it.
  return { reason: 'ended', ended_at: after?.created_at };
}

const device: Projection = (change) => {
  const { before, after } = change;
  const isOtherUser = differs('login_user_id', change);
  const isOtherPerson = isOtherUser || differs('login_user_since', change);
  const isEnabledAgain = before?.disabled_at !== undefined && after?.disabled_at === undefined;
  const isMoved = before?.login_user_id && after?.login_user_id && isOtherUser;
  const registered = after && { ...after, registered_at: after.last_seen_at };
  return [
    ...when(!before || isEnabledAgain, 'device.registered', registered),
    ...when(isOtherPerson && before?.login_user_id, 'device.relation_ended', before),
    ...when(isOtherPerson && after?.login_user_id, 'device.related', after),
    ...when(isMoved, 'device.moved', { ...after, former_login_user_id: before?.login_user_id }),
    ...when(gained('disabled_at', change), 'device.disabled', after),
  ];
};

const accessRequest: Projection = (change) => {
  const { before, after } = change;
  const created = after && { ...after, expires_at: after.open_until };
  const approvals = Array.isArray(after?.approvers) ? after.approvers.length : 0;
  return [
    ...when(!before, 'access_request.created', created),
    ...when(gained('decision', change), 'access_request.decided', { ...after, approvals }),
  ];
};

/** Comments and reviews; they are never changed. */
const event: Projection = ({ before, after }) =>
  when(!before, 'event.added', after && { ...after, event_id: after.id });

/** A kind of item whose changes may publish something. */
interface PublishedKind {
  project: Projection;
  /**
   * The changes that may publish something: patterns for the filter of the stream, which can't
   * compare the values of two images. `$or` takes two at least.
   * @default all changes of such an item
   */
  changes?: [ChangePattern, ChangePattern, ...ChangePattern[]];
}

/** Kinds by the first part of their sort keys. */
export const publishedKinds: Readonly<Record<string, PublishedKind>> = {
  LOGIN_USER: { project: loginUser },
  SESSION: {
    project: session,
    // All but new sessions and refreshes, the most frequent changes.
    changes: [
      // A session has ended.
      { dynamodb: { OldImage: { ended_at: absent }, NewImage: { ended_at: present } } },
      // A new session, which was never refreshed, has replaced one that had not ended.
      {
        dynamodb: {
          OldImage: { pk: present, ended_at: absent },
          NewImage: { generation: { N: ['0'] } },
        },
      },
      // A session that had not ended is gone.
      { eventName: ['REMOVE'], dynamodb: { OldImage: { ended_at: absent } } },
    ],
  },
  DEVICE: {
    project: device,
    // All but further registrations of a device without a person.
    changes: [
      { eventName: ['INSERT'] },
      { dynamodb: { OldImage: { disabled_at: absent }, NewImage: { disabled_at: present } } },
      { dynamodb: { OldImage: { disabled_at: present }, NewImage: { disabled_at: absent } } },
      { dynamodb: { OldImage: { login_user_id: present } } },
      { dynamodb: { NewImage: { login_user_id: present } } },
    ],
  },
  ACCESS_REQUEST: {
    project: accessRequest,
    changes: [
      { eventName: ['INSERT'] },
      { dynamodb: { OldImage: { decision: absent }, NewImage: { decision: present } } },
    ],
  },
  EVENT: { project: event },
};

export function domainEventsOf(sortKey: string, change: Change): DomainEvent[] {
  const [kind = ''] = sortKey.split('#');
  return publishedKinds[kind]?.project(change) ?? [];
}
