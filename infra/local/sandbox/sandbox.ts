import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { ProviderId } from '../../../lib/providers/identifiers.ts';
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

export interface Sandbox {
  /** E.g. `http://127.0.0.1:40123`; each provider is mounted below it, under its identifier. */
  url: string;
  /** Per provider, what an operator would set for our app there. */
  settings: Record<ProviderId, unknown>;
  /** Ends the server and every open connection. */
  close(): Promise<void>;
}

/**
 * Starts all six identity providers on one loopback port. State lives in memory and ends with the sandbox.
 *
 * @param options.port @default a free one
 * @throws the listen error, such as EADDRINUSE, for a port that can't be had
 */
export async function startSandbox({ port = 0 }: { port?: number } = {}): Promise<Sandbox> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');

  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`;
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

  return {
    url,
    settings: settingsOf(providers),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
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
