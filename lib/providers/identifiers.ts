/** The protocol family of each provider, fixed by the interface. */
export const providerFamilies = {
  provider_a: 'oauth2',
  provider_b: 'oauth2',
  provider_c: 'oauth1',
  provider_d: 'oauth2',
  provider_e: 'oauth2',
  provider_f: 'oidc',
} as const;

export type ProviderId = keyof typeof providerFamilies;
export type ProviderFamily = (typeof providerFamilies)[ProviderId];

export const providerIds = [
  'provider_a',
  'provider_b',
  'provider_c',
  'provider_d',
  'provider_e',
  'provider_f',
] as const;

/** The only provider whose authorization codes the service exchanges. */
export const authorizationCodeProvider = 'provider_b';
