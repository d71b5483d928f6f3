import { randomUUID } from 'node:crypto';
import { decodeJwt } from 'jose';
import * as v from 'valibot';
import type { ProviderId } from '../../lib/providers/provider-ids.ts';
import { type PageFile, pageFiles } from '../docs/page/page-files.ts';
import type { Demo } from './demo.ts';
import { demoRequests, readDevice, readTokens } from './demo-requests.ts';
import type { Route } from './gateway.ts';

type Handler = Route['handler'];

/** The routes of the page that shows the API document and tries it out, with the demo's credentials. Of this machine alone. */
export function docsRoutes(demo: Demo): Route[] {
  let files: Map<string, PageFile> | undefined;
  const serveFile = async (name = '') => {
    files ??= pageFiles({ document: '../openapi.json', demo: 'demo' });
    const file = files.get(name);
    return file ? answer(200, file.text, file.contentType) : notFound;
  };
  return [
    route('GET', '/docs', async () => ({ statusCode: 302, headers: { location: '/docs/' } })),
    route('GET', '/docs/', () => serveFile('index.html')),
    route('GET', '/docs/{file}', ({ pathParameters }) => serveFile(pathParameters?.file)),
    route('POST', '/docs/demo', async () =>
      answer(200, JSON.stringify(await demoCredentials(demo)), 'application/json'),
    ),
  ];
}

const route = (method: 'GET' | 'POST', path: string, handler: Handler): Route => ({
  endpoint: { method, path },
  handler,
});

const answer = (statusCode: number, body: string, contentType: string) => ({
  statusCode,
  headers: { 'content-type': contentType, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
  body,
});

const notFound = answer(404, '{"message":"Not Found"}', 'application/json');

const issuedSchema = v.object({
  access_token: v.optional(v.string(), ''),
  access_secret: v.optional(v.string(), ''),
  id_token: v.optional(v.string(), ''),
  authorization_code: v.optional(v.string(), ''),
});

const identitySchema = v.object({ id: v.string() });

/**
 * Credentials for each security scheme of the API document, and what to put in the place of the placeholders in its
 * examples: fresh ones each time, since some work once.
 */
async function demoCredentials(demo: Demo) {
  const { login_app, account, sandbox_url } = demo;
  const requests = demoRequests(demo);
  const from = async (provider: ProviderId, query: Record<string, string> = {}) => {
    const parameters = new URLSearchParams({ subject: 'alice', ...query });
    return v.parse(
      issuedSchema,
      await (await fetch(`${sandbox_url}/${provider}/credentials?${parameters}`)).json(),
    );
  };
  const logIn = async (subject: string) => readTokens((await requests.logIn('provider_f', subject))());
  const { access_token: appToken } = await readTokens(requests.clientCredentials()());
  // Two people: revoking the token of the example leaves the other one logged in.
  const [alice, bob, a, b, c, f, linked, notification, { id: device }] = await Promise.all([
    logIn('alice'),
    logIn('bob'),
    from('provider_a'),
    from('provider_b'),
    from('provider_c'),
    from('provider_f'),
    // Nobody logs in with this one, so it can always be linked.
    from('provider_a', { subject: 'alice-elsewhere' }),
    from('provider_f', { claims: JSON.stringify(consentRevoked()) }),
    readDevice(requests.register(appToken, 'alices-phone')()),
  ]);
  await requests.relate(alice.access_token, device)();
  const { id: linkedIdentity } = v.parse(
    identitySchema,
    await (await requests.link(alice.access_token, 'provider_a', linked.access_token)()).json(),
  );
  return {
    basic: {
      login_app_client: { username: login_app.client_id, password: login_app.client_secret },
      account: { username: account.account_id, password: account.account_secret },
    },
    tokens: {
      login_app_token: appToken,
      login_user_token: alice.access_token,
      login_user_token_in_authentication: `Bearer ${alice.access_token}`,
    },
    examples: {
      PROVIDER_ACCESS_TOKEN: a.access_token,
      PROVIDER_OAUTH1_TOKEN: c.access_token,
      PROVIDER_OAUTH1_SECRET: c.access_secret,
      PROVIDER_ID_TOKEN: f.id_token,
      AUTHORIZATION_CODE: b.authorization_code,
      ACCESS_TOKEN: bob.access_token,
      REFRESH_TOKEN: bob.refresh_token,
      PROVIDER_NOTIFICATION: notification.id_token,
      [`la_${'A'.repeat(22)}`]: login_app.login_app_id,
      [`s_${'A'.repeat(22)}`]: String(decodeJwt(alice.access_token).sid),
      [`i_${'A'.repeat(22)}`]: linkedIdentity,
      [`d_${'0'.repeat(43)}`]: device,
      [`d_${'A'.repeat(43)}`]: device,
    },
  };
}

const consentRevoked = () => ({
  jti: randomUUID(),
  events: JSON.stringify({ type: 'consent-revoked', sub: 'alice', event_time: Date.now() }),
});
