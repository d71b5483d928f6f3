import type { LogReason } from '../foundation/reasons.ts';
import type { ErrorCode } from '../foundation/service-error.ts';

/** An error as `describeError` shows it. */
type Failure = Record<string, unknown>;

/** The subject of an operator command: the ids and choices it was given, and the ids of what it made. */
type CommandFields = { command: string } & Record<string, unknown>;

/** A write over HTTP or an operator command: who, and with what result; then the ids of what it was about. */
type AuditFields = {
  /** The scheme of the endpoint, for who is authenticated. */
  caller: string;
  /** The ARN of the operator. */
  operator?: string;
  command?: string;
  result: 'done' | 'rejected' | 'failed';
  /** The status of the HTTP response. */
  status?: number;
  /** Effect of a provider's notification. */
  outcome?: string;
} & Record<string, unknown>;

/** The party that ended something of a person's. */
type By = 'operator' | 'person' | 'provider';
/** A generation of a session, which a refresh token is of. */
type Generation = { login_user_id: string; session_id: string; generation: number };

/** Every line that the service writes, with its own fields. Those of the request come on top: `RequestFields`. */
export interface LogEvents {
  token_issued: Record<string, never>;
  token_refused: { error: ErrorCode; reason?: LogReason };
  request_refused: { error: ErrorCode; reason?: LogReason };
  request_failed: { failure: Failure };
  provider_failed: { failure: Failure };
  provider_called: { host: string; milliseconds: number };
  refresh_token_repeated: Generation;
  refresh_token_replayed: Generation;
  refresh_token_reused: Generation & { presented_generation: number };
  session_ended: { login_user_id: string; session_id: string; by: 'reuse' | 'client' | By };
  sessions_ended: { login_user_id: string; by: By };
  login_user_deleted: { login_user_id: string; by: By };
  deletion_not_finished: { login_user_id: string; failure: Failure };
  identity_linked: { login_user_id: string; identity_id: string; provider: string };
  identity_unlinked: { login_user_id: string; identity_id: string };
  provider_token_revoked: { login_user_id: string };
  provider_notified: {
    kind: 'consent_revoked' | 'account_deleted';
    outcome: 'sessions_ended' | 'deleted' | 'outdated' | 'person_unknown';
    login_user_id?: string;
  };
  provider_token_not_revoked: { login_user_id: string; failure: Failure };
  login_user_refused: { login_user_id: string };
  device_registered: { platform: string; outcome: 'created' | 'known' };
  events_searched: { access_request_id: number; count: number };
  profile_fields_left_out: { fields: string };
  provider_keys_fetched: { issuer: string };
  provider_keys_stale: { issuer: string; age_seconds: number; failure: Failure };
  provider_keys_not_stored: { issuer: string; failure: Failure };
  secret_stale: { secret: string; age_seconds: number; failure: Failure };
  signing_keys_rotated: { kid: string };
  new_versions_checked: Record<string, never>;
  new_versions_failed: { failure: Failure };
  audit: AuditFields;
  events_published: { count: number };
  events_delayed: { failure: Failure };
  event_undeliverable: { record_id: string; failure: Failure };
  signing_key_revoked: { kid: string; signing_kid: string };
  service_secret_rotated: { secret: 'refresh-tokens' | 'provider-settings' };
  operator_command_failed: CommandFields & { failure: Failure };
}

export type LogEvent = keyof LogEvents;

/** The events of unexpected errors. */
export type FailureEvent = {
  [Event in LogEvent]: LogEvents[Event] extends { failure: Failure } ? Event : never;
}[LogEvent];

/** Fields that all lines of a request have as soon as they are known. */
export interface RequestFields {
  request_id: string;
  /** Method and path, as in API Gateway's route key. */
  route: string;
  /** The caller's address, which the edge of the deployment has told. */
  source_ip: string;
  client_id: string;
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

/** The names of an event's own fields; an index signature stands for ids of the command. */
type FieldNames<Fields> = keyof { [Name in keyof Fields as string extends Name ? never : Name]: unknown };

interface Description<Fields> {
  /** The occasion on which the line is written. */
  when: string;
  /** The content of each of the line's own fields. */
  fields: Record<FieldNames<Fields>, string>;
}

const failure = 'name, code, message and place of the error, and its cause';
const error = 'the error code of the response';
const reason = 'what the response does not say, where there is more (see below)';
const login_user_id = 'the person';
const session_id = 'the session';
const generation = 'how often the session has been refreshed';
const by = '`operator`, `person` or `provider`';
const command = 'its noun and verb; then the ids and choices it was given, and the ids of what it made';

/** The texts of the docs about each event. */
export const logEvents: { [Event in LogEvent]: Description<LogEvents[Event]> } = {
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
    fields: { host: 'the host of the address', milliseconds: 'until the answer was read' },
  },
  refresh_token_repeated: {
    when: 'The predecessor of the current refresh token was presented, and got the current one: a response was lost, or somebody else has a copy',
    fields: { login_user_id, session_id, generation },
  },
  refresh_token_replayed: {
    when: 'The predecessor of the current refresh token came back late in the third generation in a row: two parties take turns; the session ends',
    fields: { login_user_id, session_id, generation },
  },
  refresh_token_reused: {
    when: 'An outdated refresh token was presented; its session ends',
    fields: {
      login_user_id,
      session_id,
      generation,
      presented_generation: 'how often it had been when the presented token was issued',
    },
  },
  session_ended: {
    when: 'A session was ended before it expired',
    fields: { login_user_id, session_id, by: `\`reuse\`, \`client\`, ${by}` },
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
  identity_linked: {
    when: 'A person linked an identity',
    fields: { login_user_id, identity_id: 'the identity', provider: 'its provider' },
  },
  identity_unlinked: {
    when: 'A person unlinked an identity',
    fields: { login_user_id, identity_id: 'the identity' },
  },
  provider_token_revoked: {
    when: 'A provider revoked its token of a person who was deleted, unlinked the identity or was refused',
    fields: { login_user_id },
  },
  provider_notified: {
    when: 'A provider reported that a person revoked their consent or deleted their account there',
    fields: {
      kind: '`consent_revoked` or `account_deleted`',
      outcome: '`sessions_ended`, `deleted`, `outdated` or `person_unknown`',
      login_user_id: 'the person, if they are known',
    },
  },
  provider_token_not_revoked: {
    when: 'The token was not revoked: `login-users retry-revocations` tries again, if it was kept',
    fields: { login_user_id, failure },
  },
  login_user_refused: { when: 'A blocked person tried to log in or to refresh', fields: { login_user_id } },
  device_registered: {
    when: 'A device was registered, for the first time or again',
    fields: { platform: '`ios` or `android`', outcome: '`created` or `known`' },
  },
  events_searched: {
    when: 'An account searched the events of an access request',
    fields: { access_request_id: 'the access request', count: 'events on the page' },
  },
  profile_fields_left_out: {
    when: 'A provider told claims of a profile that are too long, of another type or unprintable; they are not kept',
    fields: { fields: 'the names of the claims' },
  },
  provider_keys_fetched: {
    when: 'The signing keys of an OpenID provider were fetched',
    fields: { issuer: 'the provider' },
  },
  provider_keys_stale: {
    when: 'An OpenID provider did not return its keys; the last known ones stay in use',
    fields: { issuer: 'the provider', age_seconds: 'since the keys were fetched', failure },
  },
  provider_keys_not_stored: {
    when: 'The signing keys of an OpenID provider could not be put into the table; the function that fetched them uses them, and others fetch their own',
    fields: { issuer: 'the provider', failure },
  },
  secret_stale: {
    when: 'A secret could not be read; its last known value stays in use, for six hours at most. Once a minute for each instance',
    fields: { secret: 'its ARN', age_seconds: 'since the value was read', failure },
  },
  signing_keys_rotated: {
    when: 'The signing keys were rotated',
    fields: { kid: 'the key that signs from now on' },
  },
  new_versions_checked: {
    when: 'During a deployment: the new versions have let somebody log in, and answered every example as documented',
    fields: {},
  },
  new_versions_failed: {
    when: 'During a deployment: they have not, so none of them goes live',
    fields: { failure },
  },
  events_published: { when: 'Events were put on the event bus', fields: { count: 'how many' } },
  events_delayed: {
    when: 'Events could not be put on the event bus, or a dead letter into its queue; Lambda tries again',
    fields: { failure },
  },
  event_undeliverable: {
    when: 'A change of the table, or an event about it, can never be published; it is in the dead-letter queue',
    fields: { record_id: 'the record of the stream, as in the dead letter', failure },
  },
  signing_key_revoked: {
    when: 'An operator revoked a signing key',
    fields: { kid: 'the revoked key', signing_kid: 'the key that signs from now on' },
  },
  service_secret_rotated: {
    when: 'A service secret was rotated',
    fields: { secret: '`refresh-tokens` or `provider-settings`' },
  },
  audit: {
    when: 'A request that may write was answered, an operator command carried out or rejected, or an interrupted deletion finished; see [the audit log](#the-audit-log)',
    fields: {
      caller: 'how the caller was authenticated',
      operator: 'the ARN of the operator',
      command,
      result: '`done`, `rejected` or `failed`',
      status: 'the status of the response',
      outcome: 'what a notification of a provider has led to',
    },
  },
  operator_command_failed: { when: 'An operator command failed', fields: { command, failure } },
};
