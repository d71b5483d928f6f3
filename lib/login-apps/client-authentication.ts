/**
 * How clients authenticate, by the names that server metadata have. Apart from what the methods do, so that the function
 * which only describes the server needs none of it.
 * @see RFC 7591, section 2
 */
export const authenticationMethods = ['client_secret_basic', 'private_key_jwt'] as const;

/** The type of an assertion that is a JWT. @see RFC 7523, section 2.2 */
export const jwtAssertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** The algorithms by which an assertion may be signed: asymmetric ones alone. @see RFC 7518, RFC 8037, RFC 9864 */
export const assertionAlgorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519'];
