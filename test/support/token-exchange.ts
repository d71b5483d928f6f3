import { tokenExchange } from '../../lib/login-apps/client-metadata.ts';

export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token';

/** The right of a client, as flags of the command that creates it. */
export const byToken = { 'grant-types': 'none', 'provider-tokens': true };
export const byId = { 'grant-types': 'none', 'provider-tokens-offline': true };

/** The form that exchanges a Login User Token. */
export const exchangeOfToken = (subject_token: string, audience = 'provider_b') => ({
  grant_type: tokenExchange,
  audience,
  subject_token,
  subject_token_type: accessTokenType,
});

/** The form that exchanges the id of a person. */
export const exchangeOfId = (login_user_id: string, audience = 'provider_b') => ({
  grant_type: tokenExchange,
  audience,
  login_user_id,
});
