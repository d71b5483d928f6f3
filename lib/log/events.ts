import type { DefinedOnly } from '../foundation/defined-only.ts';
import type { LogReason } from '../foundation/reasons.ts';
import type { ErrorCode } from '../foundation/service-error.ts';

/** A field of a line: its content as the docs say it, and its type. */
interface Field<Type> {
  text: string;
  type?: Type;
}
const of = <Type = string>(text: string): Field<Type> => ({ text });
const maybe = <Type = string>(text: string): Field<Type | undefined> => ({ text });

/** A field with one of some values, as the docs list them: `a`, `b` or `c`. */
const choiceOf = <Choice extends string>(...choices: [...Choice[], Choice]): Field<Choice> => {
  const list = new Intl.ListFormat('en-GB', { type: 'disjunction' });
  return of(list.format(choices.map((choice) => `\`${choice}\``)));
};

const parties = ['operator', 'person', 'provider'] as const;
const by = choiceOf(...parties);
const failure = of<Record<string, unknown>>(
  'name, code, message and place of the error, and its cause',
);
const error = of<ErrorCode>('the error code of the response');
const reason = maybe<LogReason>('what the response does not say, where there is more (see below)');
const login_user_id = of('the person');
const session_id = of('the session');
const identity_id = of('the identity');
const issuer = of('the provider');
const provider = of('its provider');
const fields = of('the names of the claims');
const session = {
  login_user_id,
  session_id,
  generation: of<number>('how often the session has been refreshed'),
};

const hook_event = choiceOf('login', 'link', 'refresh');

const command =
  'its noun and verb; then the ids and choices it was given, and the ids of what it made';

const line = <const Fields extends Record<string, Field<unknown>>>(when: string, own: Fields) => ({
  when,
  fields: own,
});

/**
 * Every line that the service writes: when, and its fields besides those of the request
 * (`RequestFields`).
 */
export const logEvents = {
  token_issued: line('A token was issued', {}),
  token_refused: line('The token endpoint answered with an error', { error, reason }),
  request_refused: line('Another endpoint answered with an error', { error, reason }),
  request_failed: line('An endpoint answered 500', { failure }),
  provider_failed: line('An endpoint answered 500 because a provider gave no usable answer', {
    failure,
  }),
  provider_gave_no_verdict: line(
    'A provider answered a credential with a 4xx that is no verdict, or with 429; the caller got a 400 or a 429. Or it did not answer when an access token was to be refreshed, and the server got the one that was still valid',
    { failure },
  ),
  provider_called: line('A provider was called', {
    host: of('the host of the address'),
    milliseconds: of<number>('until the answer was read'),
    content_type: maybe('the media type of an answer that does not say that it is JSON'),
  }),
  refresh_token_repeated: line(
    'The predecessor of the current refresh token was presented, and got the current one: a response was lost, or somebody else has a copy',
    session,
  ),
  refresh_token_replayed: line(
    'The predecessor of the current refresh token came back late in the third generation in a row: two parties take turns; the session ends',
    session,
  ),
  refresh_token_reused: line('An outdated refresh token was presented; its session ends', {
    ...session,
    presented_generation: of<number>('how often it had been when the presented token was issued'),
  }),
  session_ended: line('A session was ended before it expired', {
    login_user_id,
    session_id,
    by: choiceOf('reuse', 'client', 'hook', ...parties),
  }),
  sessions_ended: line('All sessions of a person were ended, or all but one', {
    login_user_id,
    by,
  }),
  login_user_deleted: line(
    'A Login User was deleted; by `expiry`, a guest whose session was over',
    { login_user_id, by: choiceOf('expiry', ...parties) },
  ),
  guest_not_expired: line(
    'It could not be found out whether a guest still has a session, or the guest could not be deleted; it is tried again every minute',
    { login_user_id, failure },
  ),
  deletion_not_finished: line(
    'A deletion, a merge or a link that had been interrupted could not be finished; it is tried again every ten minutes',
    { login_user_id, failure },
  ),
  expiry_not_stored: line(
    'It could not be stored that an access request has expired; it is tried again every minute',
    { access_request_id: of<number>('the access request'), failure },
  ),
  identity_linked: line('An identity was linked to a person', {
    login_user_id,
    identity_id,
    provider,
  }),
  login_user_promoted: line('A guest became a person, by the first identity', { login_user_id }),
  login_users_merged: line('A Login User got the identities of another one, who is gone', {
    login_user_id,
    merged_from: of('the other one'),
  }),
  identity_unlinked: line(
    'An identity was unlinked from a person, by them, an operator or its provider',
    {
      login_user_id,
      identity_id,
    },
  ),
  provider_token_revoked: line(
    'A provider revoked its token of a person who was deleted, unlinked the identity or was not let in, or whose token nobody keeps any more',
    { login_user_id: maybe('the person, if they are known') },
  ),
  provider_token_issued: line(
    "A server got a provider's access token of a person; the request's fields `provider_scopes` and `client_id` say which and who",
    {
      identity_id,
      provider,
      refreshed: of<boolean>('whether the provider has just issued it'),
    },
  ),
  provider_token_not_refreshed: line(
    'A server got a 503, because a provider did not answer when its access token of a person was to be refreshed',
    { identity_id, failure },
  ),
  provider_access_ended: line(
    'The service forgot the token that gave servers access to a provider for a person: the provider no longer accepts it, an operator revoked it, the settings no longer keep it, or the account was hijacked',
    { login_user_id, identity_id },
  ),
  provider_tokens_forgotten: line(
    'All tokens that the people of a Login App had from a provider are forgotten, since its settings no longer keep them',
    { login_app_id: of('the Login App'), provider },
  ),
  provider_token_given_up: line(
    'A token was forgotten that its provider has not revoked for a day, since the settings no longer keep it',
    { login_user_id },
  ),
  code_not_exchanged: line(
    'The authorization code that came with an id token gave no token to revoke; the login or the link went on without one',
    { issuer, reason, failure },
  ),
  provider_notified: line('A provider reported something about a person', {
    kind: choiceOf(
      'consent_revoked',
      'account_deleted',
      'email_enabled',
      'email_disabled',
      'account_disabled',
      'account_enabled',
      'account_purged',
      'sessions_revoked',
      'tokens_revoked',
      'credential_changed',
      'credential_compromised',
      'unlinked',
      'logout',
      'data_deletion',
    ),
    outcome: choiceOf(
      'session_ended',
      'sessions_ended',
      'unlinked',
      'deleted',
      'nothing',
      'outdated',
      'person_unknown',
    ),
    confirmation_code: maybe('the code that the provider got for a deletion'),
    login_user_id: maybe('the person, if they are known'),
  }),
  provider_event_ignored: line(
    'A provider sent an event that changes nothing: one to verify that it arrives, or one that the service does not know',
    { issuer, kind: of('`verification` or `other`') },
  ),
  provider_stream_updated: line('A provider changed its stream of events, so they may stop', {
    issuer,
    status: choiceOf('enabled', 'paused', 'disabled', 'unknown'),
  }),
  provider_token_not_revoked: line(
    'The token was not revoked: `login-users retry-revocations` tries again, if it was kept',
    { login_user_id: maybe('the person, if they are known'), failure },
  ),
  login_hook_called: line('The login hook was called', {
    hook_event,
    milliseconds: of<number>('until it answered, or failed'),
  }),
  login_hook_denied: line('The login hook refused a login, a link or a refresh', {
    hook_event,
    told: maybe('the `reason` of its answer'),
  }),
  login_hook_failed: line('The login hook failed, timed out or answered invalidly', {
    hook_event,
    failure,
  }),
  login_user_refused: line('A blocked person tried to log in or to refresh', { login_user_id }),
  device_registered: line('A device was registered, for the first time or again', {
    platform: of('`ios` or `android`'),
    outcome: choiceOf('created', 'known'),
  }),
  installation_shared: line(
    'A push token was registered again after another one had replaced it: two phones have one installation id, which a backup has copied',
    { platform: of('`ios` or `android`') },
  ),
  events_searched: line('An account searched the events of an access request', {
    access_request_id: of<number>('the access request'),
    count: of<number>('events on the page'),
  }),
  profile_fields_left_out: line('Profile claims were too long, of another type or unprintable', {
    fields,
  }),
  login_claims_left_out: line(
    'An `acr`, `amr` or `session_expiry` of an id token was too long or of another type',
    {
      fields,
    },
  ),
  provider_keys_fetched: line('The signing keys of an OpenID provider were fetched', { issuer }),
  provider_keys_stale: line(
    'An OpenID provider did not return its keys; the last known ones stay in use',
    {
      issuer,
      age_seconds: of<number>('since the keys were fetched'),
      failure,
    },
  ),
  provider_keys_not_stored: line(
    'The signing keys of an OpenID provider could not be put into the table; the function that fetched them uses them, and others fetch their own',
    { issuer, failure },
  ),
  secret_stale: line(
    'A secret could not be read; its last known value stays in use, for six hours at most. Once a minute for each instance',
    { secret: of('its ARN'), age_seconds: of<number>('since the value was read'), failure },
  ),
  signing_keys_rotated: line('The signing keys were rotated', {
    kid: of('the key that signs from now on'),
  }),
  new_versions_checked: line(
    'New versions let somebody log in and answered every example as documented',
    {},
  ),
  new_versions_failed: line('New versions failed that check, so none of them goes live', {
    failure,
  }),
  events_published: line('Events were put on the event bus', { count: of<number>('how many') }),
  events_delayed: line('Events, or a dead letter, could not be delivered; Lambda tries again', {
    failure,
  }),
  event_undeliverable: line(
    'A change of the table, or an event about it, can never be published; it is in the dead-letter queue',
    { record_id: of('the record of the stream, as in the dead letter'), failure },
  ),
  signing_key_revoked: line('An operator revoked a signing key', {
    kid: of('the revoked key'),
    signing_kid: of('the key that signs from now on'),
  }),
  service_secret_rotated: line('A service secret was rotated', {
    secret: choiceOf('refresh-tokens', 'provider-settings'),
  }),
  audit: line(
    'A request that may write, or a command, has ended; see [the audit log](#the-audit-log)',
    {
      caller: of('how the caller was authenticated'),
      operator: maybe('the ARN of the operator'),
      command: maybe(command),
      result: choiceOf('done', 'rejected', 'failed'),
      status: maybe<number>('the status of the response'),
      outcome: maybe('what a notification of a provider has led to'),
    },
  ),
  operator_command_failed: line('An operator command failed', { command: of(command), failure }),
} as const;

export type LogEvent = keyof typeof logEvents;

type TypeOf<One> = One extends Field<infer Type> ? Type : never;
type FieldsOf<Fields> = DefinedOnly<{ -readonly [Name in keyof Fields]: TypeOf<Fields[Name]> }>;

/** The fields of each event. Lines about commands and writes have ids besides. */
export type LogEvents = {
  [Event in LogEvent]: FieldsOf<(typeof logEvents)[Event]['fields']> &
    (Event extends 'audit' | 'operator_command_failed' ? Record<string, unknown> : unknown);
};

/** The events with a `failure`. */
export type FailureEvent = {
  [Event in LogEvent]: 'failure' extends keyof (typeof logEvents)[Event]['fields'] ? Event : never;
}[LogEvent];

/** Fields of all lines of a request, as soon as they are known. */
export interface RequestFields {
  /** The id that the caller gets as `x-request-id`; without a caller over HTTP, that of Lambda. */
  request_id: string;
  /** Lambda's id of the invocation, which its own lines `START` and `REPORT` have, too. */
  lambda_request_id: string;
  /** The trace of the invocation: `1-5759e988-bd862e3fe1be46a994272793`. */
  trace_id: string;
  /** Method and path, as in API Gateway's route key. */
  route: string;
  /** The caller's address, from the deployment's own edge. */
  source_ip: string;
  client_id: string;
  client_kind: 'public';
  /** The thumbprint of the key by which the client authenticated. */
  key_thumbprint: string;
  account_id: string;
  login_app_id: string;
  /** A long-lived Login App Token. */
  token_id: string;
  grant_type: string;
  provider: string;
  /** The scopes of a provider's access token that a server got, as the provider told them. */
  provider_scopes: string;
  login_user_id: string;
  session_id: string;
  /** The names of optional fields whose value could not be used. */
  left_out: string;
  /** Set after the line about the error has been written. */
  error: string;
  reason: string;
}
