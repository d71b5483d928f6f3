import { environment } from '../foundation/environment.ts';

/** The service's own base address, which is the `iss` of its tokens. */
export const issuer = environment('ISSUER');
