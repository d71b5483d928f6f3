import { createHmac, createSecretKey, randomBytes, webcrypto } from 'node:crypto';
import { once } from 'node:events';
import http, { type ClientRequest, type RequestOptions } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as v from 'valibot';
import { gateway, type Route } from '../../infra/local/gateway.ts';
import { loadRoutes, setEnvironment } from '../../infra/local/load-functions.ts';
import { serve } from '../../infra/local/loopback-server.ts';
import { callerByClient } from '../../lib/storage/call-store.ts';
import { type Operation, question } from './serving-messages.ts';

// The process whose CPU time `npm run bench:requests` measures. It serves the handlers and, behind
// the same local server, an empty handler for each route.
const [demo, awsEndpoint] = JSON.parse(process.argv[2] ?? '');
setEnvironment(demo, awsEndpoint);
const routes: Route[] = [];
await loadRoutes(routes);
const served = await serve(gateway(routes));
const handler = async () => ({ statusCode: 200, headers: {}, body: '' });
const empty = await serve(gateway(routes.map((route) => ({ ...route, handler }))));
const { store } = await import('../../lib/storage/client.ts');

type Call = () => Promise<unknown>;
/**
 * The calls of recorded requests, to be made again without a handler: all, and those of the store
 * by either client.
 */
let calls: Record<'calls' | 'store' | 'defaults', Call[]> = { calls: [], store: [], defaults: [] };
let isRecording = false;

const conditional = v.looseObject({ ConditionExpression: v.string() });
const { call } = store;
const byDefaults = callerByClient(DynamoDBDocumentClient.from(new DynamoDBClient()));
store.call = (operation, input) => {
  if (isRecording) {
    // The condition of a write would not hold again.
    const again = v.is(conditional, input)
      ? {
          ...input,
          ConditionExpression: `(${input.ConditionExpression}) OR attribute_not_exists(nothing)`,
        }
      : input;
    const callAgain = () => call(operation, again);
    calls.calls.push(callAgain);
    calls.store.push(callAgain);
    calls.defaults.push(() => byDefaults[operation](again));
  }
  return call(operation, input);
};

const { request } = http;
/** Sends a request, and records it if it is one to a provider, which has no agent. */
function recordRequest(address: string, options: RequestOptions): ClientRequest {
  const sent = request(address, options);
  const end = sent.end.bind(sent);
  const recordEnd = (body?: string) => {
    calls.calls.push(async () => {
      const [response] = await once(
        request(address, { ...options, signal: undefined }).end(body),
        'response',
      );
      await response.toArray();
    });
    return end(body);
  };
  return isRecording && options.agent === false ? Object.assign(sent, { end: recordEnd }) : sent;
}
Object.assign(http, { request: recordRequest });
syncBuiltinESMExports();

const { subtle } = webcrypto;
const rs256 = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
const rsa = await subtle.generateKey(
  { ...rs256, modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]) },
  false,
  ['sign', 'verify'],
);
const es256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const ec = await subtle.generateKey(es256, false, ['sign', 'verify']);
const secret = createSecretKey(randomBytes(32));
const token = randomBytes(500);
const signature = await subtle.sign(rs256, rsa.privateKey, token);
const ecSignature = await subtle.sign(es256, ec.privateKey, token);
const operations: Record<Operation, () => unknown> = {
  'RS256 verify': () => subtle.verify(rs256, rsa.publicKey, signature, token),
  'ES256 verify': () => subtle.verify(es256, ec.publicKey, ecSignature, token),
  'RS256 sign': () => subtle.sign(rs256, rsa.privateKey, token),
  HMAC: () => createHmac('sha256', secret).update(token).digest('base64url'),
};

let used = process.cpuUsage();
process.on('message', async (message) => {
  const asked = v.parse(question, message);
  if (asked.ask === 'record') calls = { calls: [], store: [], defaults: [] };
  isRecording = asked.ask === 'record';
  const {
    [asked.ask]: recorded = asked.operations.map((name) => operations[name]),
  }: Record<string, (() => unknown)[]> = calls;
  for (let time = 0; time < asked.times; time += 1) for (const one of recorded) await one();
  const { user, system } = process.cpuUsage(used);
  used = process.cpuUsage();
  process.send?.({ milliseconds: (user + system) / 1000, storeRequests: calls.store.length });
});
process.on('disconnect', () => process.exit());
process.send?.({ url: served.url, emptyUrl: empty.url });
