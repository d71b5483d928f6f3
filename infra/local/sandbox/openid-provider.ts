import { createHash, randomUUID } from 'node:crypto';
import { definedOnly } from '../../../lib/foundation/defined-only.ts';
import { logoutEvent } from '../../../lib/providers/oidc/notification.ts';
import { securityEvents } from '../../../lib/providers/oidc/security-events.ts';
import { createIdentityServer } from './identity-server.ts';
import {
  type Apps,
  epochSeconds,
  newApps,
  profile,
  type SandboxProvider,
  validity,
} from './sandbox-provider.ts';

const secondPath = '/second';

/**
 * An OpenID Connect provider with two issuers, each with discovery, published keys and signed id tokens. The first one also
 * issues authorization codes, as Apple does.
 * @see OpenID Connect Core 1.0, section 2
 */
export async function createOpenIdProvider(
  url: string,
  id: string,
  keysFolder?: string,
): Promise<SandboxProvider> {
  const apps = newApps(id);
  const [first, second] = await Promise.all([
    createIssuer(url, apps, keysFolder, 'https://app.example/callback'),
    createIssuer(`${url}${secondPath}`, apps, keysFolder),
  ]);
  return {
    settings: { issuers: [first.settings, second.settings] },
    issue: (request) => (request.issuer === 'second' ? second : first).issue(request),
    notify: async (request) => first.notify?.(request),
    answer: (path, ...exchange) =>
      path.startsWith(`${secondPath}/`)
        ? second.answer(path.slice(secondPath.length), ...exchange)
        : first.answer(path, ...exchange),
  };
}

async function createIssuer(
  url: string,
  apps: Apps,
  keysFolder?: string,
  redirectUri?: string,
): Promise<SandboxProvider> {
  const server = await createIdentityServer({ issuer: url, apps, keysFolder, redirectUri });
  const { id: client_id, secret: client_secret } = apps['our-app'];
  const codes = redirectUri && {
    code_exchange: {
      token_url: `${url}/token`,
      revocation_url: `${url}/token/revocation`,
      client_id,
      client_secret,
      redirect_uris: [redirectUri],
    },
    user_profile: { email: 'email', given_name: 'name.firstName', family_name: 'name.lastName' },
  };
  return {
    settings: {
      ...{ issuer: url, audiences: [client_id], profile, login_claims: ['acr', 'amr'] },
      notifications: {},
      ...codes,
    },
    async issue({ subject, audience, expired, with_access_token, with_code, nonce, claims, code_challenge }) {
      const app = apps[audience ?? 'our-app'];
      const times = validity(expired);
      const common = { iss: url, sub: subject, aud: app.id, ...times };
      const accessTokens = {
        false: async () => undefined,
        true: () => server.issueAccessToken({ subject, app, ...times }),
        jwt: () => server.signJwt({ ...common, client_id: app.id, jti: randomUUID() }, 'at+jwt'),
      };
      const access_token = await accessTokens[with_access_token]();
      const at_hash = access_token && accessTokenHash(access_token);
      const all = Object.entries({ ...common, azp: app.id, nonce, at_hash, ...claims });
      const id_token = await server.signJwt(Object.fromEntries(all.filter(([, value]) => value !== null)));
      if (!with_code || !redirectUri) return definedOnly({ id_token, access_token });
      const issue = { subject, app, ...times };
      const protection = { nonce, code_challenge };
      const authorization_code = await server.issueAuthorizationCode(issue, redirectUri, protection);
      return definedOnly({ id_token, access_token, authorization_code });
    },
    async notify({ event, subject, sid, reason }) {
      const iat = epochSeconds();
      const common = { iss: url, aud: client_id, iat, jti: randomUUID() };
      if (event === 'logout') {
        const claims = { ...common, sub: subject, exp: iat + 120, events: { [logoutEvent]: {} } };
        const logout_token = await server.signJwt(definedOnly({ ...claims, sid }), 'logout+jwt');
        const body = new URLSearchParams({ logout_token });
        return { contentType: 'application/x-www-form-urlencoded', body: body.toString() };
      }
      const name = securityEvents.find((one) => one.endsWith(`/${event}`));
      if (name === undefined) return undefined;
      const user = { format: 'iss_sub', iss: url, sub: subject };
      const session = { format: 'opaque', id: sid };
      const sub_id = sid === undefined ? user : { format: 'complex', user, session };
      const set = { ...common, sub_id, events: { [name]: definedOnly({ reason }) } };
      return { contentType: 'application/secevent+jwt', body: await server.signJwt(set, 'secevent+jwt') };
    },
    answer: server.answer,
  };
}

/**
 * The left half of the hash that goes with the signing algorithm, here SHA-256 with ES256.
 * @see OpenID Connect Core 1.0, section 3.1.3.6
 */
const accessTokenHash = (accessToken: string): string =>
  createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url');
