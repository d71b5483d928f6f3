import type { IssuersInSettings, KnownIssuer } from '../jwt/issuers-in-settings.ts';
import { type ProtocolName, type ProviderId, protocolNames } from '../provider-ids.ts';
import { oauth1Stored } from './oauth1.ts';
import { oauth2Stored } from './oauth2.ts';
import { oidcStored } from './oidc.ts';

/** Answers about stored settings. All but the secrets of an exchange can be read encrypted. */
interface StoredAnswers {
  /** The issuers that they trust. */
  issuers: (settings: object) => IssuersInSettings;
  /** The namespace of people whom no issuer of id tokens names. */
  namespace: (settings: object) => string | undefined;
  /** Addresses at the provider, first the one that best tells which company it is. */
  addresses: (settings: object) => string[];
  /**
   * The exchange of authorization codes.
   * @param issuer the one beside whose id tokens the codes come; undefined for codes alone
   */
  exchange: (settings: object, issuer?: string) => StoredExchange | undefined;
  /** The exchanges that keep the tokens which come for codes. */
  keepers: (settings: object) => StoredKeeper[];
}

/** An exchange that keeps tokens. */
export interface StoredKeeper {
  /** The one beside whose id tokens the codes come; undefined for codes alone. */
  issuer: string | undefined;
  /** The host of its token endpoint. */
  host: string;
  /** The issuer of the id tokens that come for its codes, if they say who the person is. */
  trusted: Pick<KnownIssuer, 'issuer' | 'tenants'> | undefined;
  /** Whether servers also get access tokens that have more than an hour left. */
  givesLongLived: boolean;
}

/** An exchange of authorization codes, as far as it is no secret. */
export interface StoredExchange {
  redirect_uris: string[];
  pkce?: 'verified' | 'required' | undefined;
  id_token?: object | undefined;
}

const answers: Record<ProtocolName, StoredAnswers> = {
  oauth1: oauth1Stored,
  oauth2: oauth2Stored,
  oidc: oidcStored,
};

/** Reads stored settings of a provider; apart from its protocol, which is larger. */
export const settingsOf = (provider: ProviderId): StoredAnswers => answers[protocolNames[provider]];
