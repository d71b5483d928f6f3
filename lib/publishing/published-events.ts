import * as v from 'valibot';
import { actorSchema, actorTypes, reviewStatuses } from '../access-requests/event.ts';
import { platforms } from '../login-apps/platforms.ts';
import { providerIds } from '../providers/provider-ids.ts';
import { countField, jsonSchema, timestampField } from '../schema/json-schema.ts';

const idField = (description: string) => v.pipe(v.string(), v.description(description));

/** Fields that the detail of every published event begins with. */
const common = {
  id: v.pipe(
    v.string(),
    jsonSchema({ type: 'string', pattern: '^pe_[A-Za-z0-9_-]{43}$' }),
    v.description(
      'The published event: the same whenever it is published again, so that duplicates can be dropped.',
    ),
  ),
  sequence: v.pipe(
    v.string(),
    jsonSchema({ type: 'string', pattern: '^[0-9]{40}\\.[0-9]$' }),
    v.description('Compared as text, it puts the events of one item in the order in which they happened.'),
  ),
  occurred_at: v.pipe(timestampField, v.description('When the table recorded the change, to the second.')),
};

const loginApp = { login_app_id: idField('The Login App.') };
const loginUser = { login_user_id: idField('The Login User: the `sub` of their tokens.'), ...loginApp };
/** The Login User's own item, which says more about them. */
const person = {
  ...loginUser,
  external_id: v.pipe(
    v.optional(v.string()),
    v.description(
      'Their id in the system that they were imported from. Only by a setting of the deployment.',
    ),
  ),
};
const session = { session_id: idField('The session: the `sid` of its tokens.') };
const device = { device_id: idField('The device.'), ...loginApp, platform: v.picklist(platforms) };
const accessRequest = { access_request_id: v.pipe(countField, v.description('The access request.')) };

const detail = <Fields extends v.ObjectEntries>(fields: Fields) => v.object({ ...common, ...fields });

/**
 * Every type of published event, with the schema of its detail: ids, times and kinds, and nothing else. What a detail is
 * made from is read by its schema, so a field that is not listed here never leaves the table.
 */
export const publishedEvents = {
  'login_user.created': {
    when: 'A person logged in to a Login App for the first time, or was imported.',
    detail: detail({ ...person, provider: v.picklist(providerIds), created_at: timestampField }),
  },
  'login_user.logged_in': {
    when: 'A person logged in. A refresh is no login.',
    detail: detail({
      ...person,
      ...session,
      provider: v.picklist(providerIds),
      logged_in_at: timestampField,
    }),
  },
  'login_user.sessions_ended': {
    when: 'All sessions of a person that had begun were ended together, but for one perhaps.',
    detail: detail({
      ...person,
      ended_at: timestampField,
      kept_session_id: v.pipe(v.optional(v.string()), v.description('The session that went on.')),
    }),
  },
  'login_user.deleted': {
    when: 'A Login User was deleted, and all their sessions with them.',
    detail: detail(person),
  },
  'login_user.blocked': {
    when: 'A Login User was blocked.',
    detail: detail({ ...person, blocked_at: timestampField }),
  },
  'login_user.hijacked': {
    when: 'A provider reported that the account there with which a person logs in was hijacked.',
    detail: detail({ ...person, hijacked_at: timestampField }),
  },
  'identity.linked': {
    when: 'A further identity of a person was linked to their Login User.',
    detail: detail({
      login_user_id: loginUser.login_user_id,
      identity_id: idField('The identity, as the person sees it in the list of theirs.'),
    }),
  },
  'identity.unlinked': {
    when: 'An identity was unlinked from a Login User, or freed because they were deleted.',
    detail: detail({
      login_user_id: loginUser.login_user_id,
      identity_id: idField('The identity, as the person saw it in the list of theirs.'),
    }),
  },
  'session.ended': {
    when: 'A session was ended, or it expired and the table has removed it.',
    detail: detail({
      ...session,
      ...loginUser,
      client_id: idField('The client that logged in.'),
      reason: v.pipe(
        v.picklist(['ended', 'expired', 'reuse', 'hook']),
        v.description(
          '`ended`: by a logout, the operator, or an outdated refresh token. `expired`: by time, or with all sessions of the person; published when the table removes the session, or a later login takes its place, which may be days later. `reuse`: by a refresh token that came back late in three generations in a row, so somebody else has a copy. `hook`: by the login hook, which refused a refresh.',
        ),
      ),
      ended_at: timestampField,
    }),
  },
  'device.registered': {
    when: 'A device was registered for the first time, or again after it was disabled.',
    detail: detail({ ...device, created_at: timestampField, registered_at: timestampField }),
  },
  'device.related': {
    when: 'A device was related to a Login User.',
    detail: detail({ ...device, login_user_id: loginUser.login_user_id, related_at: timestampField }),
  },
  'device.moved': {
    when: 'A device was related to a Login User while it was related to another one. Comes after `device.related`.',
    detail: detail({
      ...device,
      login_user_id: loginUser.login_user_id,
      former_login_user_id: idField('The Login User whose device it was.'),
      related_at: timestampField,
    }),
  },
  'device.relation_ended': {
    when: 'A device is no longer related to a Login User. When it moves to another one, `device.related` follows.',
    detail: detail({ ...device, login_user_id: loginUser.login_user_id }),
  },
  'device.disabled': {
    when: 'A device was disabled: it gets no messages until it registers again.',
    detail: detail({ ...device, disabled_at: timestampField }),
  },
  'access_request.created': {
    when: 'An access request was created.',
    detail: detail({
      ...accessRequest,
      account_id: idField('The account that it was created by or for.'),
      created_at: timestampField,
      title: v.optional(v.string()),
      reference: v.optional(v.string()),
      requested_by: v.optional(actorSchema),
      approvals_needed: v.optional(countField),
      self_review: v.optional(v.boolean()),
      expires_at: v.optional(timestampField),
    }),
  },
  'access_request.decided': {
    when: 'An access request was approved or rejected by its reviews, or it expired: within minutes of its `expires_at`.',
    detail: detail({
      ...accessRequest,
      decision: v.picklist(['approved', 'rejected', 'expired']),
      approvals: v.pipe(countField, v.description('How many different actors had approved.')),
      decided_at: timestampField,
    }),
  },
  'event.added': {
    when: 'A comment or a review was added to an access request, also by an import.',
    detail: detail({
      ...accessRequest,
      event_id: v.pipe(countField, v.description('The event, 1, 2, 3 … within the access request.')),
      type: v.picklist(['comment', 'review']),
      status: v.pipe(v.optional(v.picklist(reviewStatuses)), v.description('The verdict of a review.')),
      actor_type: v.picklist(actorTypes),
      created_at: timestampField,
    }),
  },
} as const;

export type PublishedEventType = keyof typeof publishedEvents;
