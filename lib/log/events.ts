import type { DefinedOnly } from '../foundation/defined-only.ts';
import type { LogReason } from '../foundation/reasons.ts';
import type { ErrorCode } from '../foundation/service-error.ts';

/** A field of a line: its content for the docs, and its type; one that may be undefined may be left out. */
interface Field<Type> {
  text: string;
  type?: Type;
}
const of = <Type = string>(text: string): Field<Type> => ({ text });
const maybe = <Type = string>(text: string): Field<Type | undefined> => ({ text });

/** The choices of a field, as the docs write them: `a`, `b` or `c`. */
const oneOf = <Choice extends string>(...choices: [...Choice[], Choice]): Field<Choice> => {
  const [last, ...others] = choices.map((choice) => `\`${choice}\``).toReversed();
  return of(`${others.toReversed().join(', ')} or ${last}`);
};

/** The party that ended something of a person's. */
const parties = ['operator', 'person', 'provider'] as const;
const by = oneOf(...parties);
const failure = of<Record<string, unknown>>('name, code, message and place of the error, and its cause');
const error = of<ErrorCode>('the error code of the response');
const reason = maybe<LogReason>('what the response does not say, where there is more (see below)');
const login_user_id = of('the person');
const session_id = of('the session');
/** A generation of a session, which a refresh token is of. */
const session = {
  login_user_id,
  session_id,
  generation: of<number>('how often the session has been refreshed'),
};

const hook_event = oneOf('login', 'link', 'refresh');

const command = 'its noun and verb; then the ids and choices it was given, and the ids of what it made';

/** Every line that the service writes: its occasion, and its own fields. Those of the request come on top: `RequestFields`. */
export const logEvents = {
  token_issued: { when: 'A token was issued', fields: {} },
  token_refused: { when: 'The token endpoint answered with an error', fields: { error, reason } },
  request_refused: { when: 'Another endpoint answered with an error', fields: { error, reason } },
  request_failed: { when: 'An endpoint answered 500', fields: { failure } },
  provider_failed: {
    when: 'An endpoint answered 500 because a provider gave no usable answer',
    fields: { failure },
  },
  provider_called: {
    when: 'A provider was called',
    fields: { host: of('the host of the address'), milliseconds: of<number>('until the answer was read') },
  },
  refresh_token_repeated: {
    when: 'The predecessor of the current refresh token was presented, and got the current one: a response was lost, or somebody else has a copy',
    fields: session,
  },
  refresh_token_replayed: {
    when: 'The predecessor of the current refresh token came back late in the third generation in a row: two parties take turns; the session ends',
    fields: session,
  },
  refresh_token_reused: {
    when: 'An outdated refresh token was presented; its session ends',
    fields: {
      ...session,
      presented_generation: of<number>('how often it had been when the presented token was issued'),
    },
  },
  session_ended: {
    when: 'A session was ended before it expired',
    fields: { login_user_id, session_id, by: oneOf('reuse', 'client', 'hook', ...parties) },
  },
  sessions_ended: {
    when: 'All sessions of a person that had begun were ended together, or all but one',
    fields: { login_user_id, by },
  },
  login_user_deleted: { when: 'A Login User was deleted', fields: { login_user_id, by } },
  deletion_not_finished: {
    when: 'A deletion or a link that had been interrupted could not be finished; it is tried again every ten minutes',
    fields: { login_user_id, failure },
  },
  lists_not_refreshed: {
    when: "An account's lists of access requests could not be brought up to date; it is tried again every minute",
    fields: { account_id: of('the account'), failure },
  },
  identity_linked: {
    when: 'A person linked an identity',
    fields: { login_user_id, identity_id: of('the identity'), provider: of('its provider') },
  },
  identity_unlinked: {
    when: 'A person unlinked an identity',
    fields: { login_user_id, identity_id: of('the identity') },
  },
  provider_token_revoked: {
    when: 'A provider revoked its token of a person who was deleted, unlinked the identity or was refused',
    fields: { login_user_id },
  },
  code_not_exchanged: {
    when: 'The authorization code beside an id token gave no token to revoke: the login or the link went on without',
    fields: { issuer: of('the provider'), reason, failure },
  },
  provider_notified: {
    when: 'A provider reported something about a person, for example that they deleted their account there',
    fields: {
      kind: oneOf(
        ...(['consent_revoked', 'account_deleted', 'account_disabled', 'account_enabled'] as const),
        ...(['account_purged', 'sessions_revoked', 'tokens_revoked', 'credential_changed'] as const),
        ...(['credential_compromised', 'unlinked', 'logout', 'data_deletion'] as const),
      ),
      outcome: oneOf(
        ...(['session_ended', 'sessions_ended', 'deleted', 'nothing', 'outdated'] as const),
        'person_unknown',
      ),
      confirmation_code: maybe('the code that the provider got for a deletion'),
      login_user_id: maybe('the person, if they are known'),
    },
  },
  provider_event_ignored: {
    when: 'A provider sent an event that changes nothing: one to verify that it arrives, or one that the service does not know',
    fields: { issuer: of('the provider'), kind: of('`verification` or `other`') },
  },
  provider_stream_updated: {
    when: 'A provider changed its stream of events, so they may stop',
    fields: { issuer: of('the provider'), status: oneOf('enabled', 'paused', 'disabled', 'unknown') },
  },
  provider_token_not_revoked: {
    when: 'The token was not revoked: `login-users retry-revocations` tries again, if it was kept',
    fields: { login_user_id, failure },
  },
  login_hook_denied: {
    when: 'The login hook refused a login, a link or a refresh',
    fields: { hook_event, told: maybe('the `reason` of its answer') },
  },
  login_hook_failed: {
    when: 'The login hook failed, took too long or gave an invalid answer',
    fields: { hook_event, failure },
  },
  login_user_refused: { when: 'A blocked person tried to log in or to refresh', fields: { login_user_id } },
  device_registered: {
    when: 'A device was registered, for the first time or again',
    fields: { platform: of('`ios` or `android`'), outcome: oneOf('created', 'known') },
  },
  events_searched: {
    when: 'An account searched the events of an access request',
    fields: { access_request_id: of<number>('the access request'), count: of<number>('events on the page') },
  },
  profile_fields_left_out: {
    when: 'A provider or an app told claims of a profile that are too long, of another type or unprintable; they are not kept',
    fields: { fields: of('the names of the claims') },
  },
  login_claims_left_out: {
    when: 'An id token has an `acr` or `amr` that is too long or of another type; the session does without',
    fields: { fields: of('the names of the claims') },
  },
  provider_keys_fetched: {
    when: 'The signing keys of an OpenID provider were fetched',
    fields: { issuer: of('the provider') },
  },
  provider_keys_stale: {
    when: 'An OpenID provider did not return its keys; the last known ones stay in use',
    fields: { issuer: of('the provider'), age_seconds: of<number>('since the keys were fetched'), failure },
  },
  provider_keys_not_stored: {
    when: 'The signing keys of an OpenID provider could not be put into the table; the function that fetched them uses them, and others fetch their own',
    fields: { issuer: of('the provider'), failure },
  },
  secret_stale: {
    when: 'A secret could not be read; its last known value stays in use, for six hours at most. Once a minute for each instance',
    fields: { secret: of('its ARN'), age_seconds: of<number>('since the value was read'), failure },
  },
  signing_keys_rotated: {
    when: 'The signing keys were rotated',
    fields: { kid: of('the key that signs from now on') },
  },
  new_versions_checked: {
    when: 'During a deployment: the new versions have let somebody log in, and answered every example as documented',
    fields: {},
  },
  new_versions_failed: {
    when: 'During a deployment: they have not, so none of them goes live',
    fields: { failure },
  },
  events_published: { when: 'Events were put on the event bus', fields: { count: of<number>('how many') } },
  events_delayed: {
    when: 'Events could not be put on the event bus, or a dead letter into its queue; Lambda tries again',
    fields: { failure },
  },
  event_undeliverable: {
    when: 'A change of the table, or an event about it, can never be published; it is in the dead-letter queue',
    fields: { record_id: of('the record of the stream, as in the dead letter'), failure },
  },
  signing_key_revoked: {
    when: 'An operator revoked a signing key',
    fields: { kid: of('the revoked key'), signing_kid: of('the key that signs from now on') },
  },
  service_secret_rotated: {
    when: 'A service secret was rotated',
    fields: { secret: oneOf('refresh-tokens', 'provider-settings') },
  },
  audit: {
    when: 'A request that may write was answered, an operator command carried out or rejected, or an interrupted deletion finished; see [the audit log](#the-audit-log)',
    fields: {
      caller: of('how the caller was authenticated'),
      operator: maybe('the ARN of the operator'),
      command: maybe(command),
      result: oneOf('done', 'rejected', 'failed'),
      status: maybe<number>('the status of the response'),
      outcome: maybe('what a notification of a provider has led to'),
    },
  },
  operator_command_failed: { when: 'An operator command failed', fields: { command: of(command), failure } },
} as const satisfies Record<string, { when: string; fields: Record<string, Field<unknown>> }>;

export type LogEvent = keyof typeof logEvents;

type TypeOf<One> = One extends Field<infer Type> ? Type : never;
type FieldsOf<Fields> = DefinedOnly<{ -readonly [Name in keyof Fields]: TypeOf<Fields[Name]> }>;

/** The own fields of each event. The lines about commands, and about writes, have the ids of what they are about as well. */
export type LogEvents = {
  [Event in LogEvent]: FieldsOf<(typeof logEvents)[Event]['fields']> &
    (Event extends 'audit' | 'operator_command_failed' ? Record<string, unknown> : unknown);
};

/** The events of unexpected errors. */
export type FailureEvent = {
  [Event in LogEvent]: 'failure' extends keyof (typeof logEvents)[Event]['fields'] ? Event : never;
}[LogEvent];

/** Fields that all lines of a request have as soon as they are known. */
export interface RequestFields {
  request_id: string;
  /** Method and path, as in API Gateway's route key. */
  route: string;
  /** The caller's address, which the edge of the deployment has told. */
  source_ip: string;
  client_id: string;
  /** Set for a public client; its id is known to anybody. */
  client_kind: 'public';
  /** The thumbprint of the key by which the client authenticated. */
  key_thumbprint: string;
  account_id: string;
  login_app_id: string;
  /** The id of a long-lived Login App Token. */
  token_id: string;
  grant_type: string;
  provider: string;
  login_user_id: string;
  session_id: string;
  /** The end of a request that ends in an error; noted after the line about it is written. */
  error: string;
  reason: string;
}
