import { routes } from '../routes.ts';
import { grantTypes } from './grants/grant-types.ts';
import { issuer } from './issuer.ts';

/** Where the OAuth endpoints are and what they support. @see RFC 8414 section 2 */
export function serverMetadata(): Record<string, unknown> {
  const at = (route: keyof typeof routes) => `${issuer}${routes[route].path}`;
  const authentication = ['client_secret_basic'];
  return {
    issuer,
    token_endpoint: at('issue-token'),
    token_endpoint_auth_methods_supported: authentication,
    revocation_endpoint: at('revoke-token'),
    revocation_endpoint_auth_methods_supported: authentication,
    introspection_endpoint: at('introspect-token'),
    introspection_endpoint_auth_methods_supported: authentication,
    jwks_uri: at('list-signing-keys'),
    grant_types_supported: grantTypes,
    // People authorise at their provider, so there is no authorisation endpoint and no response type.
    response_types_supported: [],
  };
}
