/** The `iss` and the address of the keys of well-known issuers, by their own documentation. */
export const knownIssuers = {
  apple: { issuer: 'https://appleid.apple.com', jwks_uri: 'https://appleid.apple.com/auth/keys' },
  facebook: {
    issuer: 'https://www.facebook.com',
    jwks_uri: 'https://limited.facebook.com/.well-known/oauth/openid/jwks/',
  },
  google: {
    issuer: 'https://accounts.google.com',
    jwks_uri: 'https://www.googleapis.com/oauth2/v3/certs',
  },
  kakao: {
    issuer: 'https://kauth.kakao.com',
    jwks_uri: 'https://kauth.kakao.com/.well-known/jwks.json',
  },
  linkedin: {
    issuer: 'https://www.linkedin.com/oauth',
    jwks_uri: 'https://www.linkedin.com/oauth/openid/jwks',
  },
  twitch: { issuer: 'https://id.twitch.tv/oauth2', jwks_uri: 'https://id.twitch.tv/oauth2/keys' },
} as const;

/**
 * The address of an issuer's keys, by its settings or as it is well known; undefined if the
 * discovery document has it.
 */
export const keysAddressOf = ({ issuer, jwks_uri }: KeySource): string | undefined =>
  jwks_uri ?? Object.values(knownIssuers).find((known) => known.issuer === issuer)?.jwks_uri;

/** An issuer, and the address of its keys if its settings name one. */
export interface KeySource {
  issuer: string;
  jwks_uri?: string | undefined;
  /** The issuer as the settings name it, where it stands for one of each tenant. */
  template?: string | undefined;
}
