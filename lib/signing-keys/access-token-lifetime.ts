import { environmentSeconds } from '../environment.ts';

/** Seconds that an access token is valid. */
export const accessTokenLifetime = environmentSeconds('ACCESS_TOKEN_SECONDS');
