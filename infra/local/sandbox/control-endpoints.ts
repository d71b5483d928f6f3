import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import * as v from 'valibot';
import { queryOf, sendJson, sendNotFound } from './answers.ts';
import { parseCredentialsRequest } from './credentials-request.ts';
import { faultRequest } from './faults.ts';
import type { ProviderTraffic } from './provider-traffic.ts';
import type { SandboxProvider } from './sandbox-provider.ts';

/** A provider together with what was asked of it, and what it was told to get wrong. */
export interface MountedProvider {
  provider: SandboxProvider;
  traffic: ProviderTraffic;
}

type ControlEndpoint = (
  mounted: MountedProvider,
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<void> | void;

/** What tests and people ask of the sandbox itself, beside each provider's own protocol. */
export const controlEndpoints: ReadonlyMap<string, ControlEndpoint> = new Map<string, ControlEndpoint>([
  ['GET /credentials', issueCredentials],
  ['PUT /fault', switchFault],
  ['GET /calls', countCalls],
  ['POST /keys/rotate', rotateKey],
]);

async function issueCredentials(
  { provider }: MountedProvider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const wanted = parseCredentialsRequest(queryOf(request));
  if (typeof wanted === 'string') return sendBadRequest(response, wanted);
  sendJson(response, 200, await provider.issueCredentials(wanted), { 'cache-control': 'no-store' });
}

async function switchFault(
  { provider, traffic }: MountedProvider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), faultRequest), await text(request));
  if (!parsed.success) return sendBadRequest(response, v.summarize(parsed.issues));
  const { endpoint, fault } = parsed.output;
  if (![...provider.endpoints.values()].includes(endpoint)) {
    return sendBadRequest(response, `this provider has no ${endpoint} endpoint`);
  }
  traffic.setFault(endpoint, fault);
  response.writeHead(204).end();
}

function countCalls({ traffic }: MountedProvider, _request: IncomingMessage, response: ServerResponse): void {
  sendJson(response, 200, traffic.calls);
}

async function rotateKey(
  { provider }: MountedProvider,
  _request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!provider.rotateKey) return sendNotFound(response, 'this provider signs nothing');
  sendJson(response, 200, { kid: await provider.rotateKey() });
}

function sendBadRequest(response: ServerResponse, description: string): void {
  sendJson(response, 400, { error: 'invalid_request', error_description: description });
}
