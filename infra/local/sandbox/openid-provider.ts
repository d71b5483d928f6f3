import { createHash } from 'node:crypto';
import { createIdentityServer } from './identity-server.ts';
import { Apps, type SandboxProvider, validity } from './sandbox-provider.ts';

/**
 * An OpenID Connect provider: discovery, published keys and signed id tokens.
 * @see OpenID Connect Core 1.0, section 2
 */
export async function createOpenIdProvider(url: string, id: string): Promise<SandboxProvider> {
  const apps = new Apps(id);
  const server = await createIdentityServer({ issuer: url, apps: [apps.ours, apps.another] });

  return {
    settings: { issuer: url, audiences: [apps.ours.id] },
    async issue({ subject, audience, expired, with_access_token, claims }) {
      const app = apps.of(audience);
      const times = validity(expired);
      const access_token = with_access_token
        ? await server.issueAccessToken({ subject, app, ...times })
        : undefined;
      const all = {
        iss: url,
        sub: subject,
        aud: app.id,
        azp: app.id,
        ...times,
        ...(access_token && { at_hash: accessTokenHash(access_token) }),
        ...claims,
      };
      const kept = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
      const id_token = await server.signIdToken(kept);
      return { id_token, ...(access_token && { access_token }) };
    },
    answer: (path, request, response) => server.answer(path, request, response),
  };
}

/**
 * The left half of the hash that goes with the signing algorithm, here SHA-256 with ES256.
 * @see OpenID Connect Core 1.0, section 3.1.3.6
 */
const accessTokenHash = (accessToken: string): string =>
  createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url');
