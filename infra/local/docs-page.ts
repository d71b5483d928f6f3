import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { decodeJwt } from 'jose';
import * as v from 'valibot';
import type { ProviderId } from '../../lib/providers/provider-ids.ts';
import { isInstalled, projectFolder } from '../version.ts';
import type { Demo } from './demo.ts';
import type { Route } from './gateway.ts';

/**
 * The routes of the page that shows the API document and tries it out, with the demo's credentials.
 */
export function docsRoutes(demo: Demo): Route[] {
  let files: Map<string, string> | undefined;
  const serveFile = async (name = '') => {
    files ??= isInstalled ? readPage() : await bundlePage();
    const text = files.get(name);
    if (text === undefined) return answer(404, '{"message":"Not Found"}', 'application/json');
    return answer(200, text, `${contentTypes[extname(name)]}; charset=utf-8`);
  };
  return [
    serve('GET /docs', async () => ({ statusCode: 302, headers: { location: '/docs/' } })),
    serve('GET /docs/', () => serveFile('index.html')),
    serve('GET /docs/{file}', ({ pathParameters }) => serveFile(pathParameters?.file)),
    serve('POST /docs/demo', async () =>
      answer(200, JSON.stringify(await demoCredentials(demo)), 'application/json'),
    ),
  ];
}

/** The page of the clone. The packages that it is made with are not in the installed one. */
async function bundlePage(): Promise<Map<string, string>> {
  const { pageFiles } = await import('../docs/page/page-files.ts');
  return pageFiles(true);
}

/** The page of the installed package. */
function readPage(): Map<string, string> {
  const folder = join(projectFolder, 'page');
  const names = readdirSync(folder);
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

const contentTypes: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
};

const serve = (route: Route['endpoint']['route'], handler: Route['handler']): Route => ({
  endpoint: { route },
  handler,
});

const answer = (statusCode: number, body: string, contentType: string) => ({
  statusCode,
  headers: {
    'content-type': contentType,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  },
  body,
});

const read = async (url: string, init?: RequestInit) =>
  v.parse(v.record(v.string(), v.unknown()), await (await fetch(url, init)).json());

/**
 * New credentials for each scheme of the API document, and values for the placeholders in its
 * examples: some work only once.
 */
async function demoCredentials({ base_url, sandbox_url, login_app, account }: Demo) {
  const from = (provider: ProviderId, query: Record<string, string> = {}) =>
    read(
      `${sandbox_url}/${provider}/credentials?${new URLSearchParams({ subject: 'alice', ...query })}`,
    );
  const post = (path: string, authorization: string, body: URLSearchParams | Blob) =>
    read(`${base_url}/v2/marketing/${path}`, { method: 'POST', headers: { authorization }, body });
  const json = (value: object) => new Blob([JSON.stringify(value)], { type: 'application/json' });
  const client = `Basic ${btoa(`${login_app.client_id}:${login_app.client_secret}`)}`;
  const token = (form: Record<string, string>) =>
    post('oauth/token', client, new URLSearchParams(form));
  const logIn = async (subject: string) => {
    const id_token = String((await from('provider_f', { subject })).id_token);
    return token({ grant_type: 'provider_credentials', provider: 'provider_f', id_token });
  };
  const { access_token: appToken } = await token({ grant_type: 'client_credentials' });
  const recipients = await token({ grant_type: 'client_credentials', scope: 'recipients' });
  const consentRevoked = JSON.stringify({
    type: 'consent-revoked',
    sub: 'alice',
    event_time: Date.now(),
  });
  const phone = json({ device: { platform: 'android', token: 'alices-phone' } });
  // Three people: revoking the token of the example leaves Alice logged in, and she can be merged
  // with Carol.
  const [alice, bob, , a, b, c, f, ofOther, elsewhere, notification, { id: device }] =
    await Promise.all([
      logIn('alice'),
      logIn('bob'),
      logIn('carol'),
      from('provider_a'),
      from('provider_b'),
      from('provider_c'),
      from('provider_f'),
      from('provider_f', { subject: 'carol' }),
      // Nobody logs in with it, so it can always be linked.
      from('provider_a', { subject: 'alice-elsewhere' }),
      from('provider_f', { claims: JSON.stringify({ jti: randomUUID(), events: consentRevoked }) }),
      post('push_notifications/devices', `Bearer ${appToken}`, phone),
    ]);
  const asAlice = `Bearer ${alice.access_token}`;
  await post('login/user/push_notifications/devices', asAlice, json({ device_id: device }));
  const identity = { provider: 'provider_a', access_token: String(elsewhere.access_token) };
  const linked = await post('login/user/identities', asAlice, new URLSearchParams(identity));
  return {
    basic: {
      login_app_client: { username: login_app.client_id, password: login_app.client_secret },
      account: { username: account.account_id, password: account.account_secret },
    },
    tokens: {
      login_app_token: appToken,
      recipients_token: recipients.access_token,
      login_user_token: alice.access_token,
      login_user_token_in_authentication: asAlice,
    },
    examples: {
      PROVIDER_ACCESS_TOKEN: a.access_token,
      PROVIDER_OAUTH1_TOKEN: c.access_token,
      PROVIDER_OAUTH1_SECRET: c.access_secret,
      PROVIDER_ID_TOKEN: f.id_token,
      ID_TOKEN_OF_OTHERS: ofOther.id_token,
      AUTHORIZATION_CODE: b.authorization_code,
      ACCESS_TOKEN: bob.access_token,
      REFRESH_TOKEN: bob.refresh_token,
      PROVIDER_NOTIFICATION: notification.id_token,
      [`la_${'A'.repeat(22)}`]: login_app.login_app_id,
      [`s_${'A'.repeat(22)}`]: decodeJwt(String(alice.access_token)).sid,
      [`i_${'A'.repeat(22)}`]: linked.id,
      [`d_${'0'.repeat(43)}`]: device,
      [`d_${'A'.repeat(43)}`]: device,
    },
  };
}
