import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ProviderId } from '../../../lib/providers/identifiers.ts';
import { type LoopbackServer, listen } from '../loopback-server.ts';
import { sendJson, sendNotFound } from './answers.ts';
import { createAuthorizationCodeProvider } from './authorization-code-provider.ts';
import { controlEndpoints, type MountedProvider } from './control-endpoints.ts';
import { createDebugTokenProvider } from './debug-token-provider.ts';
import { sendFault } from './faults.ts';
import { createIntrospectionProvider } from './introspection-provider.ts';
import { createOAuth1Provider } from './oauth1-provider.ts';
import { createOpenIdProvider } from './openid-provider.ts';
import { ProviderTraffic } from './provider-traffic.ts';
import type { SandboxProvider } from './sandbox-provider.ts';
import { createTokenInfoProvider } from './token-info-provider.ts';

/** Each provider is mounted below the address, under its identifier. */
export interface Sandbox extends LoopbackServer {
  /** Per provider, what an operator would set for our app there. */
  settings: Record<ProviderId, unknown>;
}

/** Starts all six identity providers on one free loopback port. State lives in memory and ends with the sandbox. */
export async function startSandbox(): Promise<Sandbox> {
  const server = createServer();
  // The providers know their own address, so that the server listens before it answers.
  const { url, close } = await listen(server, 0);
  const providers = await createProviders(url);
  const mounted = new Map(
    Object.entries(providers).map(([id, provider]) => [id, { provider, traffic: new ProviderTraffic() }]),
  );
  server.on('request', (request, response) => {
    answer(mounted, request, response).catch((error: unknown) => {
      // A caller that hung up, as a fault makes it do, is owed no answer.
      if (response.closed || response.headersSent) return;
      sendJson(response, 500, { error: 'sandbox_failed', error_description: String(error) });
    });
  });

  return { url, settings: settingsOf(providers), close };
}

async function createProviders(url: string): Promise<Record<ProviderId, SandboxProvider>> {
  return {
    provider_a: await createIntrospectionProvider(`${url}/provider_a`, 'provider_a'),
    provider_b: await createAuthorizationCodeProvider(`${url}/provider_b`, 'provider_b'),
    provider_c: createOAuth1Provider(`${url}/provider_c`, 'provider_c'),
    provider_d: createTokenInfoProvider(`${url}/provider_d`, 'provider_d'),
    provider_e: createDebugTokenProvider(`${url}/provider_e`, 'provider_e'),
    provider_f: await createOpenIdProvider(`${url}/provider_f`, 'provider_f'),
  };
}

function settingsOf(providers: Record<ProviderId, SandboxProvider>): Record<ProviderId, unknown> {
  return {
    provider_a: providers.provider_a.settings,
    provider_b: providers.provider_b.settings,
    provider_c: providers.provider_c.settings,
    provider_d: providers.provider_d.settings,
    provider_e: providers.provider_e.settings,
    provider_f: providers.provider_f.settings,
  };
}

async function answer(
  providers: ReadonlyMap<string, MountedProvider>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [pathname = ''] = (request.url ?? '').split('?');
  const [, providerId = '', ...below] = pathname.split('/');
  const path = `/${below.join('/')}`;
  const mounted = providers.get(providerId);
  if (!mounted) return sendNotFound(response, 'no such provider; there are provider_a to provider_f');

  const control = controlEndpoints.get(`${request.method} ${path}`);
  if (control) return control(mounted, request, response);

  const endpoint = mounted.provider.endpoints.get(path);
  const fault = endpoint ? mounted.traffic.receive(endpoint) : null;
  if (fault && !(await sendFault(response, fault))) return;
  return mounted.provider.answer(path, request, response);
}
