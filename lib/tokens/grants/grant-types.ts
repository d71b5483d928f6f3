/** Every grant type that the token endpoint supports. */
export const grantTypes = [
  'provider_credentials',
  'provider_authorization_code',
  'refresh_token',
  'client_credentials',
] as const;
export type GrantType = (typeof grantTypes)[number];
