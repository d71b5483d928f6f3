/** The providers, as the interface names them. Which protocol each of them speaks is in `protocols.ts`. */
export const providerIds = [
  'provider_a',
  'provider_b',
  'provider_c',
  'provider_d',
  'provider_e',
  'provider_f',
] as const;
export type ProviderId = (typeof providerIds)[number];

/** The only provider whose authorization codes the service exchanges. */
export const authorizationCodeProvider = 'provider_b';
