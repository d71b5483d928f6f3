// Names in client and server metadata, apart from their code: the function that describes the
// server bundles none of it.

/** The grants that an operator can allow a client. */
export const grantTypes = [
  'provider_credentials',
  'provider_authorization_code',
  'refresh_token',
  'client_credentials',
] as const;

/**
 * The grant by which somebody begins without an account. A client that may log people in may use
 * it, where the Login App lets in guests: a list of 1.1.0, which can't name it, stays right.
 */
export const guestGrant = 'guest';

/**
 * The grant by which a server gets a provider's access token. A client needs a right of its own.
 * @see RFC 8693, section 2.1
 */
export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';

export const supportedGrantTypes = [...grantTypes, guestGrant, tokenExchange] as const;
export type GrantType = (typeof supportedGrantTypes)[number];

/**
 * Methods by which clients authenticate.
 * @see RFC 7591, section 2
 */
export const authenticationMethods = ['client_secret_basic', 'private_key_jwt'] as const;

/**
 * Algorithms of DPoP proofs: the one that a Secure Enclave and a Keystore have.
 * @see RFC 9449, section 5.1
 */
export const proofAlgorithms = ['ES256'];

/**
 * The type of an assertion that is a JWT.
 * @see RFC 7523, section 2.2
 */
export const jwtAssertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/**
 * Algorithms of assertions: asymmetric ones only.
 * @see RFC 7518, RFC 8037, RFC 9864
 */
export const assertionAlgorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519'];

export const platforms = ['ios', 'android'] as const;
export type Platform = (typeof platforms)[number];
