/** Fields of a log line besides `level`, `message`, `timestamp`, `service` and `event`. */
export type LogFields = Record<string, unknown>;

/**
 * Every line that the service writes about a decision, with the fields it has. Lines that belong to an HTTP
 * request also have `request_id` and `route`; from the moment the caller is known `client_id` or
 * `account_id`, and `login_app_id`.
 */
export const logEvents = {
  token_issued: {
    when: 'A token was handed out',
    fields: 'grant_type; for a person login_user_id, session_id and (at a login) provider',
  },
  token_refused: {
    when: 'The token endpoint refused',
    fields: 'error; reason where there is more to say; grant_type and provider where known',
  },
  request_refused: {
    when: 'Another endpoint refused',
    fields: 'error; reason where there is more to say',
  },
  request_failed: {
    when: 'An endpoint answered 500',
    fields: 'failure: name, code, message and place of the error, and its cause',
  },
  provider_failed: {
    when: 'An endpoint answered 500 because a provider gave no verdict',
    fields: 'failure, as above; provider where known',
  },
  provider_called: {
    when: 'A provider was called at one of the addresses of the settings',
    fields: 'host, milliseconds; provider where known',
  },
  refresh_token_reused: {
    when: 'An outdated refresh token was presented; its session ends',
    fields: 'login_user_id, session_id, generation, presented_generation',
  },
  session_ended: {
    when: 'A session ended before its time',
    fields: 'login_user_id, session_id, by: reuse, client, operator',
  },
  login_user_refused: {
    when: 'A blocked person tried to log in or to refresh',
    fields: 'login_user_id',
  },
  device_registered: {
    when: 'A device was registered, for the first time or again',
    fields: 'platform, outcome: created, known',
  },
  events_searched: {
    when: 'An account got a page of the events of an access request',
    fields: 'access_request_id, count',
  },
  provider_keys_fetched: {
    when: 'Signing keys of an identity provider were fetched',
    fields: 'issuer',
  },
  provider_keys_stale: {
    when: 'An identity provider gave no keys; the last ones serve on',
    fields: 'issuer, age_seconds, failure',
  },
  signing_keys_rotated: {
    when: 'The key set has moved on',
    fields: 'kid of the key that signs from now on',
  },
  operator_command: {
    when: 'An operator changed or read something',
    fields: 'command; the ids and choices it was given, and the ids of what it made',
  },
  operator_command_refused: {
    when: 'An operator command was refused; nothing changed',
    fields: 'command; the ids and choices it was given',
  },
  operator_command_failed: {
    when: 'An operator command failed',
    fields: 'command; the ids and choices it was given; failure',
  },
} as const satisfies Record<string, { when: string; fields: string }>;

export type LogEvent = keyof typeof logEvents;
