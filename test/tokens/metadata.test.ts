import { describe, expect, test } from '@jest/globals';
import * as oauth from 'oauth4webapi';
import { documentedFetch } from '../support/loaded-once.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { base_url, login_app } = service.demo;
const insecure = {
  [oauth.allowInsecureRequests]: true,
  [oauth.customFetch]: (url: string, { headers }: { headers: Record<string, string> }) =>
    documentedFetch(url, { headers }),
};

/** What a resource server that knows nothing but the metadata address finds out. */
async function discover(): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(await issuerOf());
  // The address that reaches the service here; behind it, the issuer may have another one.
  const metadata = new URL(`${base_url}/.well-known/oauth-authorization-server`);
  return oauth.processDiscoveryResponse(issuer, await documentedFetch(metadata));
}
const issuerOf = async (): Promise<string> =>
  (await service.call('/.well-known/oauth-authorization-server')).body.issuer;
const reachable = (address = ''): URL => new URL(new URL(address).pathname, base_url);

const methods = ['client_secret_basic', 'private_key_jwt'];
const algorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519'];

describe('GET /.well-known/oauth-authorization-server', () => {
  test('every field is true', async () => {
    const { status, body, headers } = await service.call('/.well-known/oauth-authorization-server');
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('public, max-age=3600');
    expect(headers.get('pragma')).toBeNull();
    expect(body).toEqual({
      issuer: expect.stringMatching(/^https?:\/\/[^/]+$/),
      token_endpoint: `${body.issuer}/v2/marketing/oauth/token`,
      token_endpoint_auth_methods_supported: [...methods, 'none'],
      token_endpoint_auth_signing_alg_values_supported: algorithms,
      revocation_endpoint: `${body.issuer}/v2/marketing/oauth/revoke`,
      revocation_endpoint_auth_methods_supported: [...methods, 'none'],
      revocation_endpoint_auth_signing_alg_values_supported: algorithms,
      introspection_endpoint: `${body.issuer}/v2/marketing/oauth/introspect`,
      introspection_endpoint_auth_methods_supported: methods,
      introspection_endpoint_auth_signing_alg_values_supported: algorithms,
      jwks_uri: `${body.issuer}/v2/marketing/oauth/jwks`,
      dpop_signing_alg_values_supported: ['ES256'],
      grant_types_supported: [
        'provider_credentials',
        'provider_authorization_code',
        'refresh_token',
        'client_credentials',
        'guest',
        'urn:ietf:params:oauth:grant-type:token-exchange',
      ],
      response_types_supported: [],
    });
  });

  test('each grant type it lists is supported, and no other', async () => {
    const { grant_types_supported = [] } = await discover();
    for (const grant_type of [...grant_types_supported, 'password']) {
      const { body } = await service.token({ grant_type });
      expect(body.error === 'unsupported_grant_type').toBe(grant_type === 'password');
    }
  });
});

describe('GET /.well-known/openid-configuration', () => {
  test('the same, and what OpenID Discovery requires, but nothing that is not there', async () => {
    const { body: metadata } = await service.call('/.well-known/oauth-authorization-server');
    const { status, body, headers } = await service.call('/.well-known/openid-configuration');
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('public, max-age=3600');
    expect(body).toEqual({
      ...metadata,
      subject_types_supported: ['pairwise'],
      id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    });
  });
});

describe('GET /v2/marketing/oauth/jwks', () => {
  test('public keys, which caches may keep for five minutes', async () => {
    const { status, body, headers } = await service.call('/v2/marketing/oauth/jwks');
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('public, max-age=300');
    expect(body.keys.length).toBeGreaterThanOrEqual(2);
    for (const key of body.keys) {
      expect(key).toEqual({
        kid: expect.stringMatching(/^k_/),
        use: 'sig',
        alg: 'RS256',
        kty: 'RSA',
        n: expect.stringMatching(/^[\w-]{342}$/),
        e: 'AQAB',
      });
    }
  });
});

describe('an independent resource server, with nothing but the metadata address', () => {
  test('verifies a Login User Token with oauth4webapi, and rejects one for another Login App', async () => {
    const server = { ...(await discover()) };
    server.jwks_uri = reachable(server.jwks_uri).href;
    const { access_token } = (await service.logIn(unique('alice'))).body;
    const request = () =>
      new Request('https://resource.example/', {
        headers: { authorization: `Bearer ${access_token}` },
      });
    const claims = await oauth.validateJwtAccessToken(
      server,
      request(),
      login_app.login_app_id,
      insecure,
    );
    expect(claims.client_id).toBe(login_app.client_id);
    const elsewhere = oauth.validateJwtAccessToken(server, request(), 'la_another', insecure);
    await expect(elsewhere).rejects.toThrow();
  });
});
