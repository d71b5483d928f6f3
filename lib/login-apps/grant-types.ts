/**
 * Every grant type that the token endpoint supports. Apart from what the grants do, so that the function which only
 * describes the server needs none of the providers, keys and secrets.
 */
export const grantTypes = [
  'provider_credentials',
  'provider_authorization_code',
  'refresh_token',
  'client_credentials',
] as const;
export type GrantType = (typeof grantTypes)[number];
