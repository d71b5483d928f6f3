/** The protocol of each provider. The interface fixes the names of both. */
export const protocolNames = {
  provider_a: 'oauth2',
  provider_b: 'oauth2',
  provider_c: 'oauth1',
  provider_d: 'oauth2',
  provider_e: 'oauth2',
  provider_f: 'oidc',
} as const;
export type ProviderId = keyof typeof protocolNames;
export type ProtocolName = (typeof protocolNames)[ProviderId];
export const providerIds = Object.keys(protocolNames) as ProviderId[];

/** The only provider whose authorization codes the service exchanges. */
export const authorizationCodeProvider = 'provider_b';
