import type { JWK } from 'jose';
import type { RegisteredApp } from './apps.ts';
import { MemoryAdapter, type Records } from './memory-adapter.ts';
import { signingAlgorithm } from './signing-key.ts';

interface ConfigurationParts {
  apps: readonly RegisteredApp[];
  redirectUri?: string;
  records: Records;
  jwk: JWK;
  cookieKey: string;
}

const hour = 3600;

/**
 * What oidc-provider needs to know. Every default that it would warn about in the terminal is set here.
 *
 * @see https://github.com/panva/node-oidc-provider/blob/main/docs/README.md
 */
export function identityServerConfiguration(parts: ConfigurationParts): object {
  const { apps, redirectUri, records, jwk, cookieKey } = parts;
  return {
    adapter: (model: string) => new MemoryAdapter(model, records),
    clients: apps.map((app) => clientMetadata(app, redirectUri)),
    jwks: { keys: [jwk] },
    cookies: { keys: [cookieKey] },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId }),
    }),
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      resourceIndicators: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      // Any app may ask about any token, so that our service alone decides whose tokens count.
      introspection: { enabled: true, allowedPolicy: () => true },
    },
    renderError: (context: { body: unknown }, error: object) => {
      context.body = error;
    },
    // No slack, so that what has expired is refused at once.
    clockTolerance: 0,
    ttl: { AccessToken: hour, AuthorizationCode: hour, Grant: hour, IdToken: hour },
  };
}

function clientMetadata(app: RegisteredApp, redirectUri: string | undefined): object {
  return {
    client_id: app.id,
    client_secret: app.secret,
    token_endpoint_auth_method: 'client_secret_basic',
    id_token_signed_response_alg: signingAlgorithm,
    redirect_uris: redirectUri ? [redirectUri] : [],
    grant_types: redirectUri ? ['authorization_code'] : [],
    response_types: redirectUri ? ['code'] : [],
  };
}
