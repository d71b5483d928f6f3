import * as v from 'valibot';
import { environment, environmentSeconds } from '../foundation/environment.ts';

/** Seconds that an access token is valid. */
export const accessTokenLifetime = environmentSeconds('ACCESS_TOKEN_SECONDS');

/** The algorithms that access tokens can be signed with; the first is the default. @see RFC 7518 section 3.1 */
export const tokenAlgorithms = ['RS256', 'ES256'] as const;
export type TokenAlgorithm = (typeof tokenAlgorithms)[number];

const setting = environment('TOKEN_ALGORITHM');

/** The algorithm of new signing keys. @throws ValiError when the setting names none */
export function wantedAlgorithm(): TokenAlgorithm {
  const message = `The environment variable TOKEN_ALGORITHM must be ${tokenAlgorithms.join(' or ')}.`;
  return v.parse(v.picklist(tokenAlgorithms, message), setting());
}
