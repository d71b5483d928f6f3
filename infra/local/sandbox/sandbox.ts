import type { IncomingMessage, ServerResponse } from 'node:http';
import * as v from 'valibot';
import type { ProviderId } from '../../../lib/providers/provider-ids.ts';
import { type LoopbackServer, serve } from '../loopback-server.ts';
import { createOAuth1Provider } from './oauth1-provider.ts';
import { createOAuth2Provider, kinds } from './oauth2-provider.ts';
import { createOpenIdProvider } from './openid-provider.ts';
import { createRiscApi } from './risc-api.ts';
import {
  credentialsQuerySchema,
  notificationQuerySchema,
  type SandboxProvider,
  sendJson,
} from './sandbox-provider.ts';

/** Each provider is mounted below the address, under its identifier. */
export interface Sandbox extends LoopbackServer {
  /** Settings by provider, as an operator would give them for our app there. */
  settings: Record<string, object>;
}

/**
 * Starts all six identity providers on one loopback port. State lives in memory and ends with the sandbox.
 * @param port 0 takes a free one
 * @param keysFolder keeps the keys of the OpenID provider, since the service remembers them
 */
export async function startSandbox(port = 0, keysFolder?: string): Promise<Sandbox> {
  const mounted = new Map<string, SandboxProvider>();
  // The providers know their own address, so they are mounted once the server listens.
  const { url, close } = await serve((request, response) => {
    answer(mounted, request, response).catch((error: unknown) => {
      // A caller that hung up is owed no answer.
      if (response.closed || response.headersSent) return;
      sendJson(response, 500, { error: 'sandbox_failed', error_description: String(error) });
    });
  }, port);
  const at = (id: ProviderId): [url: string, id: ProviderId] => [`${url}/${id}`, id];
  const providers: Record<ProviderId, SandboxProvider> = {
    provider_a: await createOAuth2Provider(...at('provider_a'), kinds.introspection),
    provider_b: await createOAuth2Provider(...at('provider_b'), kinds.codes),
    provider_c: createOAuth1Provider(...at('provider_c')),
    provider_d: await createOAuth2Provider(...at('provider_d'), kinds.tokenInfo),
    provider_e: await createOAuth2Provider(...at('provider_e'), kinds.debugToken),
    provider_f: await createOpenIdProvider(...at('provider_f'), keysFolder),
  };
  for (const [id, provider] of Object.entries(providers)) mounted.set(id, provider);
  mounted.set('risc', createRiscApi(providers.provider_f));
  const settings = Object.fromEntries(Object.entries(providers).map(([id, { settings }]) => [id, settings]));
  return { url, settings, close };
}

async function answer(
  providers: ReadonlyMap<string, SandboxProvider>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://sandbox');
  const [, id = '', ...below] = pathname.split('/');
  const path = `/${below.join('/')}`;
  const provider = providers.get(id);
  if (!provider)
    return refuse(response, 'There is no such provider, only provider_a to provider_f.', 404, 'not_found');
  if (`${request.method} ${path}` === 'POST /notifications')
    return send(provider, Object.fromEntries(searchParams), response);
  if (`${request.method} ${path}` !== 'GET /credentials') return provider.answer(path, request, response);
  const wanted = v.safeParse(credentialsQuerySchema, Object.fromEntries(searchParams));
  if (!wanted.success) return refuse(response, faultOf(wanted.issues[0]));
  sendJson(response, 200, await provider.issue(wanted.output));
}

const refuse = (
  response: ServerResponse,
  error_description: string,
  status = 400,
  error = 'invalid_request',
) => sendJson(response, status, { error, error_description });

const faultOf = (issue: v.BaseIssue<unknown>) => `${v.getDotPath(issue) ?? 'query'}: ${issue.message}`;

/** Sends a notification of a provider to the service. Returns what was sent, and what the service answers. */
async function send(provider: SandboxProvider, query: object, response: ServerResponse): Promise<void> {
  const wanted = v.safeParse(notificationQuerySchema, query);
  if (!wanted.success) return refuse(response, faultOf(wanted.issues[0]));
  const sent = await provider.notify?.(wanted.output);
  if (!sent) return refuse(response, `event: this provider sends no ${wanted.output.event}`);
  const headers = { 'content-type': sent.contentType };
  const answer = await fetch(wanted.output.to, { method: 'POST', headers, body: sent.body });
  sendJson(response, 200, { sent: sent.body, status: answer.status, answer: await answer.text() });
}
