/** Fields of a log line besides `level`, `message`, `timestamp`, `service` and `event`. */
export type LogFields = Record<string, unknown>;

/**
 * Every line that the service writes about a decision, with the fields it has. Lines that belong to an HTTP
 * request also have `request_id` and `route`; from the moment the caller is known `client_id` or
 * `account_id`, and `login_app_id`.
 */
export const logEvents = {
  token_issued:
    'A token was handed out. grant_type; for a person login_user_id, session_id and (at a login) provider',
  token_refused:
    'The token endpoint refused. error; reason where there is more to say; grant_type and provider where known',
  request_refused: 'Another endpoint refused. error; reason where there is more to say',
  request_failed:
    'An endpoint answered 500. failure: name, code, message and place of the error, and its cause',
  refresh_token_reused:
    'An outdated refresh token was presented; its session ends. login_user_id, session_id, generation, presented_generation',
  session_ended:
    'A session ended before its time. login_user_id, session_id, by: reuse, client, operator, refused_login',
  login_user_refused: 'A blocked person tried to log in or to refresh. login_user_id',
  provider_keys_fetched: 'Signing keys of an identity provider were fetched. issuer',
  provider_keys_stale:
    'An identity provider gave no keys; the last ones serve on. issuer, age_seconds, failure',
  signing_keys_rotated: 'The key set has moved on. kid of the key that signs from now on',
  operator_command: 'An operator changed or read something. command, and the ids it was given',
  operator_command_refused: 'An operator command was refused; nothing changed. command',
  operator_command_failed: 'An operator command failed. command, failure',
} as const;

export type LogEvent = keyof typeof logEvents;
