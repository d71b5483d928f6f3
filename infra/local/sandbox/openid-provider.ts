import { createHash, randomUUID } from 'node:crypto';
import { logoutEvent } from '../../../lib/providers/notifications/notification.ts';
import { securityEvents } from '../../../lib/providers/notifications/security-events.ts';
import { createIdentityServer } from './identity-server.ts';
import {
  epochSeconds,
  newApps,
  profile,
  type SandboxProvider,
  validity,
} from './sandbox-provider.ts';
import { redirectUris } from './sign-in-page.ts';

/**
 * An OpenID Connect provider with two issuers; the first takes authorization codes, too, like
 * Apple.
 * @see OpenID Connect Core
 */
export async function createOpenIdProvider(sandboxUrl: string, id: string, keysFolder?: string) {
  const url = `${sandboxUrl}/${id}`;
  const apps = newApps(id);
  const { id: client_id, secret: client_secret } = apps['our-app'];
  const issuerAt = async (issuer: string) => ({
    issuer,
    server: await createIdentityServer({ issuer, apps, keysFolder }),
    settings: {
      issuer,
      audiences: [client_id],
      profile,
      login_claims: ['acr', 'amr'],
      notifications: {},
    },
  });
  const [first, second] = await Promise.all([issuerAt(url), issuerAt(`${url}/second`)]);
  const codes = {
    code_exchange: {
      token_url: `${url}/token`,
      revocation_url: `${url}/token/revocation`,
      client_id,
      client_secret,
      redirect_uris: redirectUris,
    },
    user_profile: { email: 'email', given_name: 'name.firstName', family_name: 'name.lastName' },
  };
  return {
    settings: { issuers: [{ ...first.settings, ...codes }, second.settings] },
    async issue(query) {
      const { subject, audience, with_access_token, with_code, nonce, claims } = query;
      const { issuer, server } = query.issuer === 'second' ? second : first;
      const aud = apps[audience].id;
      const common = { iss: issuer, sub: subject, aud, ...validity(query.expired) };
      const accessTokens = {
        true: () => server.issueAccessToken(query),
        jwt: () => server.signJwt({ ...common, client_id: aud, jti: randomUUID() }, 'at+jwt'),
      };
      const access_token = with_access_token && (await accessTokens[with_access_token]());
      const at_hash = access_token && accessTokenHash(access_token);
      const all = Object.entries({ ...common, azp: aud, nonce, at_hash, ...claims });
      const id_token = await server.signJwt(
        Object.fromEntries(all.filter(([, value]) => value !== null)),
      );
      const authorization_code =
        with_code === 'true' ? await server.issueAuthorizationCode(query) : undefined;
      return { id_token, access_token, authorization_code };
    },
    async notify({ event, subject, sid, reason }) {
      const iat = epochSeconds();
      const common = { iss: url, aud: client_id, iat, jti: randomUUID() };
      if (event === 'logout') {
        const claims = {
          ...common,
          sub: subject,
          sid,
          exp: iat + 120,
          events: { [logoutEvent]: {} },
        };
        const logout_token = await first.server.signJwt(claims, 'logout+jwt');
        return new URLSearchParams({ logout_token });
      }
      const name = securityEvents.find((one) => one.endsWith(`/${event}`));
      if (name === undefined) return undefined;
      const user = { format: 'iss_sub', iss: url, sub: subject };
      const session = { format: 'opaque', id: sid };
      const sub_id = sid === undefined ? user : { format: 'complex', user, session };
      const set = { ...common, sub_id, events: { [name]: { reason } } };
      const token = await first.server.signJwt(set, 'secevent+jwt');
      return new Blob([token], { type: 'application/secevent+jwt' });
    },
    answer: (path, ...exchange) =>
      path.startsWith('/second/')
        ? second.server.answer(path.replace('/second', ''), ...exchange)
        : first.server.answer(path, ...exchange),
  } satisfies SandboxProvider;
}

/**
 * The left half of the signing algorithm's hash, SHA-256 for ES256.
 * @see OpenID Connect Core 1.0, section 3.1.3.6
 */
const accessTokenHash = (accessToken: string): string =>
  createHash('sha256').update(accessToken).digest().subarray(0, 16).toString('base64url');
