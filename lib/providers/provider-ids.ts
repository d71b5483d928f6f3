/** The providers, as the interface names them. */
export const providerIds = [
  'provider_a',
  'provider_b',
  'provider_c',
  'provider_d',
  'provider_e',
  'provider_f',
] as const;
export type ProviderId = (typeof providerIds)[number];

/** The protocol of each provider, fixed by the interface. */
export const protocolNames = {
  provider_a: 'oauth2',
  provider_b: 'oauth2',
  provider_c: 'oauth1',
  provider_d: 'oauth2',
  provider_e: 'oauth2',
  provider_f: 'oidc',
} as const satisfies Record<ProviderId, string>;
export type ProtocolName = (typeof protocolNames)[ProviderId];

/** The only provider whose authorization codes the service exchanges. */
export const authorizationCodeProvider = 'provider_b';
