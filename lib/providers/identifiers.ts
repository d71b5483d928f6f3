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

export const providerIds = Object.keys(providerFamilies) as ProviderId[];

type ProviderOf<Family extends ProviderFamily> = {
  [Id in ProviderId]: (typeof providerFamilies)[Id] extends Family ? Id : never;
}[ProviderId];

/** The providers of a family. */
export const providersOf = <Family extends ProviderFamily>(family: Family): ProviderOf<Family>[] =>
  providerIds.filter((id): id is ProviderOf<Family> => providerFamilies[id] === family);

/** The only provider whose authorization codes the service exchanges. */
export const authorizationCodeProvider = 'provider_b';
