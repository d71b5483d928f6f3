import { definedOnly } from '../../foundation/defined-only.ts';
import type { NonceForm } from '../oidc/issuer.ts';

/** Options that an operator gives for a preset. */
export interface PresetOptions {
  /** Our app ids at the provider: one, or several where iOS, Android and web differ. */
  appIds: string[];
  appSecret: string;
  /** For the authorization-code grant. */
  redirectUris?: string[];
  /** For providers with one issuer per organisation. */
  tenant?: string | undefined;
  /** For Apple, whose client secret is signed with a private key: the `appSecret`. */
  teamId?: string | undefined;
  keyId?: string | undefined;
  /** The issuer, for the preset that fits any. */
  issuer?: string | undefined;
  /** The address of that issuer's keys, if they are on another host. */
  jwksUri?: string | undefined;
  /** The namespace in place of the provider's own. */
  namespace?: string | undefined;
  /** The setting of this name, unchecked. */
  notifications?: unknown;
}

/** An option that a preset cannot do without, besides an app id. */
export type Need = 'app-secret' | 'tenant' | 'team-id' | 'key-id' | 'issuer' | 'redirect-uri';

/** A well-known provider: its addresses and its audience validation, by the protocols that it speaks. */
export interface Preset {
  needs?: Need[];
  oauth1?: (options: PresetOptions) => object;
  oauth2?: (options: PresetOptions) => object;
  /** The issuer of its id tokens. */
  oidc?: (options: PresetOptions) => PresetIssuer;
  /** Needs of the exchange of the codes that come with id tokens. One that is given asks for the others. */
  exchangeNeeds?: Need[];
  /** Settings of the provider for authorization codes alone, where it takes no access tokens. */
  codes?: { needs: Need[]; settings: (options: PresetOptions) => object };
}

interface PresetIssuer {
  issuer: string;
  jwks_uri?: string;
  nonce_form?: NonceForm;
  code_exchange?: object;
  user_profile?: object;
}

/** The one app id of a provider whose secret belongs to it. */
export const firstOf = ({ appIds: [first = ''] }: PresetOptions): string => first;

/** The settings of the exchange of codes at a token endpoint. */
export const exchangeSettings = (tokenUrl: string, options: PresetOptions, special: object = {}) => ({
  token_url: tokenUrl,
  client_id: firstOf(options),
  client_secret: options.appSecret,
  redirect_uris: options.redirectUris ?? [],
  client_authentication: 'form',
  ...special,
});

/** The exchange of authorization codes, when the operator gave a redirect URI. */
export const codeExchange = (options: PresetOptions, tokenUrl: string, special?: object): object =>
  options.redirectUris?.length ? { authorization_code: exchangeSettings(tokenUrl, options, special) } : {};

/** The exchange of authorization codes of a provider whose id token alone says who a person is. */
export const exchangeForIdToken = (
  tokenUrl: string,
  options: PresetOptions,
  issuer: PresetIssuer,
  special?: object,
) => {
  const { namespace, notifications } = options;
  const id_token = definedOnly({ ...issuer, namespace: namespace || undefined, notifications });
  return { authorization_code: exchangeSettings(tokenUrl, options, { ...special, id_token }) };
};

/** Id tokens of an issuer, and authorization codes that it exchanges for one. */
export const openId = (issuer: PresetIssuer, tokenUrl: string) => ({
  oidc: () => issuer,
  codes: {
    needs: ['app-secret'] as Need[],
    settings: (options: PresetOptions) => exchangeForIdToken(tokenUrl, options, issuer),
  },
});
