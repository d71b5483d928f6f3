import { createHash } from 'node:crypto';
import { registerApps, requestedApp } from './apps.ts';
import { IdentityServer } from './identity-server.ts';
import type { SandboxProvider } from './sandbox-provider.ts';
import { validity } from './validity.ts';

/**
 * An OpenID Connect provider: discovery, published keys and signed id tokens.
 *
 * @see OpenID Connect Core 1.0, section 2
 */
export async function createOpenIdProvider(url: string, providerId: string): Promise<SandboxProvider> {
  const apps = registerApps(providerId);
  const server = await IdentityServer.start({ issuer: url, apps: [apps.ours, apps.another] });

  return {
    settings: { issuer: url, audiences: [apps.ours.id] },
    endpoints: new Map([
      ['/.well-known/openid-configuration', 'discovery'],
      ['/jwks', 'jwks'],
      ['/me', 'user_info'],
    ]),
    async issueCredentials(request) {
      const { subject, claims } = request;
      const issue = { subject, app: requestedApp(apps, request), validity: validity(request.expired) };
      const standard = { iss: url, sub: subject, aud: issue.app.id, azp: issue.app.id, ...issue.validity };
      const sign = (own: object) => server.signingKey.sign(withoutNulls({ ...own, ...claims }));
      if (!request.with_access_token) return { id_token: await sign(standard) };

      const accessToken = await server.issueAccessToken(issue);
      const idToken = await sign({ ...standard, at_hash: accessTokenHash(accessToken) });
      return { id_token: idToken, access_token: accessToken };
    },
    answer: (path, request, response) => server.answer(path, request, response),
    rotateKey: () => server.rotateKey(),
  };
}

/**
 * The left half of the hash that goes with the signing algorithm, here SHA-256 with ES256.
 *
 * @see OpenID Connect Core 1.0, section 3.1.3.6
 */
function accessTokenHash(accessToken: string): string {
  return createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url');
}

function withoutNulls(claims: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== null));
}
