import { environmentSeconds } from '../foundation/environment.ts';

/** Seconds that an access token is valid. */
export const accessTokenLifetime = environmentSeconds('ACCESS_TOKEN_SECONDS');
