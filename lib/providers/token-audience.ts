import { canonicalIssuer } from './jwt/issuer.ts';
import { isTemplate, standsForIssuer } from './jwt/tenants.ts';
import {
  authorizationCodeProvider,
  type ProviderId,
  protocolNames,
  providerIds,
} from './provider-ids.ts';
import { readProviderSettings } from './settings/stored.ts';
import { type StoredKeeper, settingsOf } from './stored/settings-of.ts';

/** An exchange of codes that keeps the tokens of people, and that an audience means. */
export interface TokenKeeper {
  provider: ProviderId;
  /** The issuer beside whose id tokens the codes come; undefined for codes alone. */
  issuer: string | undefined;
  /** The host of its token endpoint: it has no tokens of another one. */
  host: string;
  /** The namespace whose people alone are meant, if the audience is the issuer of a tenant. */
  tenant: string | undefined;
  /** Whether servers also get access tokens that have more than an hour left. */
  givesLongLived: boolean;
}

const providersOfCodes = providerIds.filter(
  (id) => id === authorizationCodeProvider || protocolNames[id] === 'oidc',
);

/**
 * The exchanges of a Login App that an audience means and that keep tokens, by the settings as they
 * are now: from the moment that an operator changes them, nobody gets what they no longer allow.
 * @param audience a provider, or one of its issuers
 */
export async function keepersFor(loginAppId: string, audience: string): Promise<TokenKeeper[]> {
  const named = providerIds.find((id) => id === audience);
  const providers = named ? [named] : providersOfCodes;
  const found = await Promise.all(
    providers.map(async (provider) => {
      const stored = await readProviderSettings(loginAppId, provider);
      const keepers = stored ? settingsOf(provider).keepers(stored.settings) : [];
      if (named)
        return keepers.map(({ issuer, host, givesLongLived }) => ({
          provider,
          issuer,
          host,
          tenant: undefined,
          givesLongLived,
        }));
      const meant = keepers.filter((keeper) => isMeant(keeper, audience));
      return meant.map(({ issuer, host, trusted, givesLongLived }) => {
        const isOfTenants = trusted !== undefined && isTemplate(trusted.issuer);
        const tenant = isOfTenants ? audience : undefined;
        return { provider, issuer, host, tenant, givesLongLived };
      });
    }),
  );
  return found.flat();
}

/** Whether an exchange is that of an issuer, or of all tenants of which the issuer has one. */
function isMeant({ trusted }: StoredKeeper, audience: string): boolean {
  if (!trusted) return false;
  const issuer = canonicalIssuer(audience);
  return trusted.issuer === issuer || standsForIssuer(trusted, issuer);
}
