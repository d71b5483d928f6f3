import type { IncomingMessage, ServerResponse } from 'node:http';
import * as v from 'valibot';
import type { ProviderId } from '../../../lib/providers/provider-ids.ts';
import { type ListenOptions, type LoopbackServer, sendJson, serve } from '../loopback-server.ts';
import { createCalendar } from './calendar.ts';
import { createOAuth1Provider } from './oauth1-provider.ts';
import { createOAuth2Provider, kinds } from './oauth2-provider.ts';
import { createOpenIdProvider } from './openid-provider.ts';
import { createRiscApi } from './risc-api.ts';
import * as sandbox from './sandbox-provider.ts';
import { signInPath } from './sign-in-page.ts';

export interface Sandbox extends LoopbackServer {
  /** Settings by provider, as an operator would give them for our app there. */
  settings: Record<string, object>;
}

interface SandboxOptions extends ListenOptions {
  /**
   * The addresses of the API that may be notified.
   * @default none
   */
  stackUrls?: readonly string[];
}

/**
 * Starts all six identity providers on one port. Their settings name it by the loopback address,
 * wherever they listen besides.
 * @param keysFolder keeps the keys of the OpenID provider
 */
export async function startSandbox(
  port = 0,
  keysFolder?: string,
  options: SandboxOptions = {},
): Promise<Sandbox> {
  const { stackUrls = [], ...listening } = options;
  const mounted = new Map<string, Partial<sandbox.SandboxProvider>>();
  // The providers know their own address, so they are mounted once the server listens.
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    answer(mounted, stackUrls, request, response).catch((error: unknown) => {
      // The caller hung up.
      if (response.closed || response.headersSent) return;
      const [status, where] = v.isValiError(error)
        ? [400, v.getDotPath(error.issues[0])]
        : [500, 'sandbox'];
      sendJson(response, status, {
        error: 'invalid_request',
        error_description: `${where}: ${Object(error).message}`,
      });
    });
  };
  const { url, close } = await serve(listener, port, listening);
  const providers: Record<ProviderId, sandbox.SandboxProvider> = {
    provider_a: await createOAuth2Provider(url, 'provider_a', kinds.introspection),
    provider_b: await createOAuth2Provider(url, 'provider_b', kinds.codes),
    provider_c: createOAuth1Provider(url, 'provider_c'),
    provider_d: await createOAuth2Provider(url, 'provider_d', kinds.tokenInfo),
    provider_e: await createOAuth2Provider(url, 'provider_e', kinds.debugToken),
    provider_f: await createOpenIdProvider(url, 'provider_f', keysFolder),
  };
  for (const [id, provider] of Object.entries(providers)) mounted.set(id, provider);
  mounted.set('calendar', createCalendar(providers.provider_b));
  mounted.set('risc', createRiscApi(providers.provider_f, stackUrls));
  const settings = Object.fromEntries(
    Object.entries(providers).map(([id, { settings }]) => [id, settings]),
  );
  return { url, settings, close };
}

async function answer(
  providers: ReadonlyMap<string, Partial<sandbox.SandboxProvider>>,
  stackUrls: readonly string[],
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://sandbox');
  const [, id = '', path = ''] = pathname.match(/^\/(\w+)(\/.*)$/) ?? [];
  // Any web site may send its people to the page where they sign in.
  if (isOfStrangePage(request) && path !== signInPath)
    return sendJson(response, 403, {
      error: 'forbidden',
      error_description:
        'The header Sec-Fetch-Site is cross-site: no other web page may send requests here.',
    });
  const { issue, notify, revokeConsent, answer } = providers.get(id) ?? {};
  const query = Object.fromEntries(searchParams);
  if (path === '/credentials' && issue)
    return sendJson(response, 200, await issue(v.parse(sandbox.credentialsQuerySchema, query)));
  if (path === '/notifications' && notify) {
    if (request.method !== 'POST') return requirePost(response);
    const wanted = v.parse(sandbox.notificationQuerySchema(stackUrls), query);
    const sent = await notify(wanted);
    if (!sent) throw new Error(`${id} sends no event ${wanted.event}.`);
    return sendJson(response, 200, await sandbox.post(wanted.to, sent));
  }
  if (path === '/consents/revoke' && revokeConsent) {
    if (request.method !== 'POST') return requirePost(response);
    await revokeConsent(v.parse(sandbox.consentQuerySchema, query).subject);
    return sendJson(response, 200, {});
  }
  if (answer) return answer(path, request, response);
  sendJson(response, 404, {
    error: 'not_found',
    error_description: 'There are provider_a to provider_f.',
  });
}

function requirePost(response: ServerResponse): void {
  response.setHeader('allow', 'POST');
  sendJson(response, 405, { error: 'invalid_request', error_description: 'Send a POST.' });
}

/**
 * Whether a page of another site loads something, such as an image. One whose `Origin` has been let
 * in is no stranger.
 */
const isOfStrangePage = ({ headers }: IncomingMessage): boolean =>
  headers['sec-fetch-site'] === 'cross-site' && headers.origin === undefined;
