import { environment } from '../foundation/environment.ts';

/** The base address of the service: the `iss` of its tokens. */
export const issuer = environment('ISSUER');

export const tokenPath = '/v2/marketing/oauth/token';
export const revocationPath = '/v2/marketing/oauth/revoke';
export const introspectionPath = '/v2/marketing/oauth/introspect';
export const noncePath = '/v2/marketing/oauth/nonce';
export const keysPath = '/v2/marketing/oauth/jwks';
export const loginUserPath = '/v2/marketing/login/user';
export const identitiesPath = '/v2/marketing/login/user/identities';
export const mergePath = '/v2/marketing/login/user/merge';
export const notificationsPath = '/v2/marketing/providers/{provider}/notifications';
