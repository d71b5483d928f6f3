/** Reasons of rejected requests, for the log alone: the caller learns no more than the error. */
export const logReasons = {
  origin_secret_wrong:
    'No origin secret or a wrong one: the request did not come through CloudFront',
  credentials_missing: 'No credentials were sent, or of another scheme',
  credentials_malformed: 'The header has the right scheme, and something that cannot be a token',
  id_unknown: 'There is no client, account or Login App Token of this id',
  secret_wrong: 'The secret is not one of this client, account or Login App Token',
  grant_type_not_allowed: 'The client may not use this grant, or may use none',
  login_app_disabled: 'An operator has disabled the Login App',
  account_disabled: 'An operator has disabled the account',
  account_read_only: 'The account may only read',
  others_write: 'Others kept writing the same, so that nothing could be written',
  access_request_full: 'The events of the access request take all the room that they have (10 GB)',
  credential_malformed:
    'The credential has characters that none may have; the provider was not asked',
  credential_too_long: 'The credential is too long, by our limit or that of the provider',
  issued_to_another_app: 'The credential was issued to an app that the settings do not name',
  token_inactive: 'The introspection says that the access token is not active',
  token_invalid: 'The token info says that the access token is not valid',
  token_expired:
    'The access token has expired, by the introspection, the token info or its own `exp`',
  token_info_refused: 'The token info endpoint rejects the access token',
  user_info_refused: 'The user info endpoint rejects the access token',
  subject_mismatch:
    'User info and audience validation, or id token and code, name different people',
  verification_refused:
    'The OAuth 1.0 provider rejects the signed request: a wrong token, secret or app',
  code_refused: 'The provider does not exchange the authorization code',
  provider_gave_no_verdict:
    'The provider answered the credential with a 4xx that says nothing about it',
  provider_throttled: 'The provider takes no more requests of our app now (429)',
  provider_not_allowed: 'The public client may not use this provider, or not by such a code',
  no_provider_access:
    'No token of the provider is kept for the person, or the provider no longer accepts it',
  provider_unavailable: 'The provider is down, slow or takes no more requests of our app',
  provider_tokens_not_allowed: "The client may not get providers' access tokens",
  provider_token_long_lived:
    'The access token has more than an hour left, and the settings of the provider have no long_lived_tokens',
  not_an_id_token: 'The id token is malformed, or a token of another kind',
  not_an_access_token:
    'The access token is no JWT, malformed or another token, such as an id token',
  algorithm_not_allowed: 'The JWT is signed by an algorithm that is not allowed, or not at all',
  unknown_key: 'The issuer publishes no key that the header of the JWT names',
  signature_invalid: 'The signature of the JWT is wrong',
  id_token_expired: 'The id token has expired',
  id_token_not_yet_valid: 'The JWT is valid only later (`nbf`)',
  issued_in_the_future: 'The id token was issued in the future (`iat`)',
  issued_too_long_ago:
    'The id token was issued longer ago (`iat`) than the settings of its issuer allow',
  valid_for_too_long: 'The id token is valid for more than a day after it was issued (`exp`)',
  provider_session_over: 'The session at the provider has ended (`session_expiry`)',
  issued_by_another_issuer:
    'The JWT names an issuer that the settings do not, or another than this service',
  notifications_off: 'The settings of the issuer have no `notifications`',
  claim_invalid: 'A claim of the JWT is missing or of the wrong type',
  no_usable_subject: 'The subject of the JWT is missing or cannot be stored',
  nonce_mismatch: 'The id token has no nonce, or another one than the request',
  other_access_token: 'The id token was issued with another access token (`at_hash`)',
  login_user_blocked: 'An operator has blocked this person',
  login_user_merged: 'The person was merged into another one',
  sign_ups_closed: 'The Login App lets in only people who exist, and this person does not',
  guests_off: 'The Login App lets in no guests',
  guests_of_key_exceeded: 'The key of the phone has made as many guests as it may in an hour',
  guests_of_client_exceeded: 'The client has made as many guests as it may in an hour',
  guests_of_login_app_exceeded: 'The Login App has as many new guests as it may in an hour',
  denied_by_hook: 'The login hook of the deployment refused',
  refresh_token_sent: 'A refresh token was sent instead of an access token',
  login_app_token_sent: 'A Login App Token was sent instead of another token',
  login_user_token_sent: 'A Login User Token was sent instead of another token',
  recipients_token_sent: 'A token with the scope `recipients` was sent instead of another token',
  refresh_token_malformed: 'The refresh token is not one of ours',
  acr_insufficient: 'The login of the session has none of the acr values that the request needs',
  token_not_recent: 'The access token was issued too long ago for what the guest asks for',
  login_not_recent: 'The login of the session is too long ago for what the person asks for',
  assertion_malformed:
    'The client assertion is no JWT, of another type, or has a key in its header',
  assertion_not_of_client:
    'The client assertion is by no key of the client, or names another client, issuer or subject; or there is no such client',
  assertion_expired: 'The client assertion has expired',
  assertion_valid_for_too_long: 'The client assertion expires later than is allowed',
  assertion_for_another_server: 'The audience of the client assertion is not this service alone',
  assertion_used: 'The `jti` of the client assertion has been used',
  proof_missing: 'A public client sent no proof of its key (`DPoP`)',
  proof_malformed:
    'The proof is no JWT, has another type or algorithm, or is not signed by its key',
  proof_for_another_request: 'The proof is for another address or method (`htu`, `htm`)',
  proof_outdated:
    "The proof is not of this minute by the phone's clock, and has no nonce of the service",
  proof_without_nonce:
    'The proof of a refresh has no nonce of the service, or one that has expired',
  proof_used: 'The `jti` of the proof has been used',
  proof_by_another_key: 'The proof is by another key than the session is bound to',
  nonce_unusable:
    'The service made no such nonce for this Login App, or it has expired or been used',
  session_ended: 'The session of the token has ended',
  issued_to_another_client: 'The token was issued to another client',
  not_revocable: 'A Login App Token can not be revoked by a client',
  signing_key_missing: 'The first rotation of the signing keys has not finished yet',
  refresh_token_replayed:
    'The refresh token had been replaced, and one came back late in three generations in a row; its session has ended now',
  refresh_token_reused: 'The refresh token had been replaced; its session has ended now',
} as const;

export type LogReason = keyof typeof logReasons;
