import * as v from 'valibot';
import { actorSchema, actorTypes, reviewStatuses } from '../access-requests/event.ts';
import { platforms } from '../login-apps/client-metadata.ts';
import { providerIds } from '../providers/provider-ids.ts';
import {
  countField,
  described,
  jsonSchema,
  textField,
  timestampField,
} from '../schema/json-schema.ts';

/** The fields of every published event's detail. */
const common = {
  id: described(
    v.pipe(v.string(), jsonSchema({ type: 'string', pattern: '^pe_[A-Za-z0-9_-]{43}$' })),
    'The published event: the same whenever it is published again, so that duplicates can be dropped.',
  ),
  sequence: described(
    v.pipe(v.string(), jsonSchema({ type: 'string', pattern: '^[0-9]{40}\\.[0-9]$' })),
    'Compared as text, it puts the events of one item in the order in which they happened.',
  ),
  occurred_at: described(timestampField, 'When the table recorded the change, to the second.'),
};

const loginApp = { login_app_id: textField('The Login App.') };
const loginUserId = { login_user_id: textField('The Login User: the `sub` of their tokens.') };
const loginUser = { ...loginUserId, ...loginApp };
const person = {
  ...loginUser,
  external_id: described(
    v.optional(v.string()),
    'Their id in the system that they were imported from. Only by a setting of the deployment.',
  ),
};
const guest = {
  guest: described(v.optional(v.literal(true)), 'True for a guest. Absent for a person.'),
};
const session = { session_id: textField('The session: the `sid` of its tokens.') };
const device = {
  device_id: textField('The device.'),
  ...loginApp,
  platform: v.picklist(platforms),
};
const accessRequest = { access_request_id: described(countField, 'The access request.') };

const event = <Fields extends v.ObjectEntries>(when: string, fields: Fields) => ({
  when,
  detail: v.object({ ...common, ...fields }),
});

/**
 * All types of published events. A field that is not in the schema of a detail never leaves the
 * table.
 */
export const publishedEvents = {
  'login_user.created': event(
    'A person logged in to a Login App for the first time, or was imported, or a guest began.',
    {
      ...person,
      provider: described(v.optional(v.picklist(providerIds)), 'Absent for a guest.'),
      ...guest,
      created_at: timestampField,
    },
  ),
  'login_user.logged_in': event('A person logged in, or a guest began. A refresh is no login.', {
    ...person,
    ...session,
    provider: described(v.optional(v.picklist(providerIds)), 'Absent for a guest.'),
    ...guest,
    logged_in_at: timestampField,
  }),
  'login_user.promoted': event(
    'A guest became a person, by the first identity that was linked to them. The id stays.',
    person,
  ),
  'login_user.sessions_ended': event(
    'All sessions of a person that had begun were ended together, but for one perhaps.',
    {
      ...person,
      ended_at: timestampField,
      kept_session_id: described(v.optional(v.string()), 'The session that went on.'),
    },
  ),
  'login_user.deleted': event(
    'A Login User was deleted, and all their sessions with them; also a guest whose session was over.',
    person,
  ),
  'login_user.merged': event(
    'A Login User was merged into another one, and is gone; there is no `login_user.deleted`. The identities come with `identity.linked`.',
    {
      ...person,
      merged_into: textField('The Login User who is kept, and whose id stays.'),
    },
  ),
  'login_user.blocked': event('A Login User was blocked.', {
    ...person,
    blocked_at: timestampField,
  }),
  'login_user.hijacked': event(
    'A provider reported that the account there with which a person logs in was hijacked.',
    { ...person, hijacked_at: timestampField },
  ),
  'login_user.email_disabled': event(
    'Apple reported that the person no longer takes mail at their relay address.',
    { ...person, email_disabled_at: timestampField },
  ),
  'login_user.email_enabled': event(
    'Apple reported that the person takes mail at their relay address again.',
    { ...person, email_enabled_at: timestampField },
  ),
  'identity.linked': event('A further identity of a person was linked to their Login User.', {
    ...loginUserId,
    identity_id: textField('The identity, as the person sees it in the list of theirs.'),
  }),
  'identity.unlinked': event(
    'An identity was unlinked from a Login User, or freed because they were deleted.',
    {
      ...loginUserId,
      identity_id: textField('The identity, as the person saw it in the list of theirs.'),
    },
  ),
  'provider_access.ended': event(
    "The service no longer keeps a provider's token with which servers could act for a person: the provider no longer accepts it, the person unlinked the identity, an operator revoked it, the settings no longer keep it, or the account there was hijacked. Not published for a deleted Login User.",
    {
      ...person,
      identity_id: textField('The identity, as the person sees it in the list of theirs.'),
      provider: v.picklist(providerIds),
      since: described(timestampField, 'When the person gave the access.'),
    },
  ),
  'session.ended': event('A session was ended, or it expired and the table has removed it.', {
    ...session,
    ...loginUser,
    client_id: textField('The client that logged in.'),
    reason: described(
      v.picklist(['ended', 'expired', 'reuse', 'hook']),
      '`ended`: by a logout, the operator, or an outdated refresh token. `expired`: by time, or with all sessions of the person; published when the table removes the session, or a later login takes its place, which may be days later. `reuse`: by a refresh token that came back late in three generations in a row, so somebody else has a copy. `hook`: by the login hook, which refused a refresh.',
    ),
    ended_at: timestampField,
  }),
  'device.registered': event(
    'A device was registered for the first time, or again after it was disabled.',
    {
      ...device,
      created_at: timestampField,
      registered_at: timestampField,
    },
  ),
  'device.related': event('A device was related to a Login User.', {
    ...device,
    ...loginUserId,
    related_at: timestampField,
  }),
  'device.moved': event(
    'A device was related to a Login User while it was related to another one. Comes after `device.related`.',
    {
      ...device,
      ...loginUserId,
      former_login_user_id: textField('The Login User whose device it was.'),
      related_at: timestampField,
    },
  ),
  'device.relation_ended': event(
    'A device is no longer related to a Login User. When it moves to another one, `device.related` follows.',
    { ...device, ...loginUserId },
  ),
  'device.disabled': event('A device was disabled: it gets no messages until it registers again.', {
    ...device,
    disabled_at: timestampField,
  }),
  'access_request.created': event('An access request was created.', {
    ...accessRequest,
    account_id: textField('The account that it was created by or for.'),
    created_at: timestampField,
    title: v.optional(v.string()),
    reference: v.optional(v.string()),
    requested_by: v.optional(actorSchema),
    approvals_needed: v.optional(countField),
    self_review: v.optional(v.boolean()),
    expires_at: v.optional(timestampField),
  }),
  'access_request.decided': event(
    'An access request was approved or rejected by its reviews, or it expired: within minutes of its `expires_at`.',
    {
      ...accessRequest,
      decision: v.picklist(['approved', 'rejected', 'expired']),
      approvals: described(countField, 'How many different actors had approved.'),
      decided_at: timestampField,
    },
  ),
  'event.added': event('A comment or a review was added to an access request, also by an import.', {
    ...accessRequest,
    event_id: described(countField, 'The event, 1, 2, 3 … within the access request.'),
    type: v.picklist(['comment', 'review']),
    status: described(v.optional(v.picklist(reviewStatuses)), 'The verdict of a review.'),
    actor_type: v.picklist(actorTypes),
    created_at: timestampField,
  }),
} as const;

export type PublishedEventType = keyof typeof publishedEvents;
