import { environmentSeconds } from '../foundation/environment.ts';

/** Seconds that an access token is valid. */
export const accessTokenLifetime = environmentSeconds('ACCESS_TOKEN_SECONDS');

/**
 * The algorithms of access tokens; the first is the default.
 * @see RFC 7518 section 3.1
 */
export const tokenAlgorithms = ['RS256', 'ES256'] as const;
export type TokenAlgorithm = (typeof tokenAlgorithms)[number];
