import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { setInterval } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type LoopbackServer, listen, serve } from '../../infra/local/loopback-server.ts';
import { type LogLine, logLine, logLines } from '../support/log-lines.ts';
import { ownService } from '../support/own-service.ts';
import {
  reply,
  type Scene,
  selfSigned,
  startProviderStandIn,
} from '../support/provider-stand-in.ts';
import {
  logIn,
  type PreparedLogin,
  peopleOf,
  prepareLogin,
  type Target,
  targets,
} from '../support/provider-targets.ts';

/** Milliseconds in which the service must be through with a provider, as its own log has it. */
const throughWithin = 5_500;

/** A fault of an endpoint: it listens and does this, or its address leads elsewhere. */
type Fault =
  | { listener: (scene: Scene, target: Target) => RequestListener }
  | { address: () => string };

const answering = (status: number, contentType: string, body: string): Fault => ({
  listener: () => (_request, response) =>
    void response.writeHead(status, { 'content-type': contentType }).end(body),
});
/** The right answer, but for what it is made into. */
const spoiltBody = (spoil: (body: string) => string | Buffer, headers = {}): Fault => ({
  listener:
    (scene, { endpoint }) =>
    async (_request, response) => {
      const good = await (await fetch(`${scene.url}/elsewhere/${endpoint}`)).text();
      response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(spoil(good));
    },
});

const compressed = (compress: (body: string) => Buffer): Fault =>
  spoiltBody(compress, { 'content-encoding': 'gzip' });

const faults: Record<string, Fault> = {
  'refuses the connection': { address: () => closedAddress },
  'has a name that DNS does not know': { address: () => 'https://provider.invalid' },
  'speaks no TLS': { address: () => standIn.url.replace('http:', 'https:') },
  // The scheme of an address may be in capitals: RFC 3986, section 3.1.
  'shows a certificate that nobody has signed': {
    address: () => untrusted.url.replace('https', 'HTTPS'),
  },
  'never answers': { listener: () => () => undefined },
  drips: {
    listener: () => async (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      for await (const _ of setInterval(100)) if (!response.write(' ') || response.closed) return;
    },
  },
  'switches protocols': {
    listener: () => (request) =>
      void request.socket.end(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
      ),
  },
  'promises more than it sends': {
    listener: () => (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{}', () => response.destroy());
    },
  },
  'hangs up': { listener: () => (request) => void request.socket.destroy() },
  'answers 500': answering(500, 'application/json', '{"error":"server_error"}'),
  'answers 503 in HTML': answering(503, 'text/html', '<h1>Service Unavailable</h1>'),
  'answers 429': answering(429, 'application/json', '{"error":"slow_down"}'),
  'answers in HTML': answering(200, 'text/html', '<h1>Welcome to the hotel</h1>'),
  'answers 404 in HTML': answering(404, 'text/html', '<h1>Not Found</h1>'),
  'answers without a body': answering(200, 'application/json', ''),
  'answers with an empty object': answering(200, 'application/json', '{}'),
  'answers with a list': answering(200, 'application/json', '[]'),
  'answers with null': answering(200, 'application/json', 'null'),
  'cuts its JSON short': spoiltBody((body) => body.slice(0, -1)),
  'sends a little more than 64 KiB': spoiltBody((body) => body + ' '.repeat(66_000)),
  'sends 10 MB': spoiltBody((body) => body + ' '.repeat(10_000_000)),
  'sends 10 MB, compressed to a few': compressed((body) => gzipSync(body + ' '.repeat(10_000_000))),
  'cuts what it compressed short': compressed((body) => gzipSync(body).subarray(0, -12)),
  'says that it compressed what it did not': compressed((body) => Buffer.from(body)),
  'redirects to the right answer': {
    listener:
      (scene, { endpoint }) =>
      (_request, response) =>
        void response.writeHead(307, { location: `${scene.url}/elsewhere/${endpoint}` }).end(),
  },
};

const { running, service } = await ownService();
const standIn = await startProviderStandIn();
let closedAddress: string;
/** Speaks TLS with a certificate of its own making. */
let untrusted: LoopbackServer;
let reachedUntrusted = 0;

/** Makes ready for a login at which one endpoint has a fault. */
function prepare(target: Target, fault: Fault): Promise<PreparedLogin> {
  const scene = standIn.openScene();
  if ('address' in fault) return prepareLogin(service, scene, target, fault.address());
  scene.misbehave(target.endpoint, fault.listener(scene, target));
  return prepareLogin(service, scene, target);
}

const allTargets: Target[] = Object.values(targets);
/** One login with each fault of each endpoint. */
const logins = new Map<string, Awaited<ReturnType<typeof logIn>>>();

beforeAll(async () => {
  const closed = await serve(() => undefined);
  closedAddress = closed.url;
  await closed.close();
  const secured = createServer({ key: selfSigned, cert: selfSigned }, (_request, response) => {
    reachedUntrusted += 1;
    reply(response, { body: {} });
  });
  const { url, close } = await listen(secured, 0);
  untrusted = { url: url.replace('http:', 'https:'), close };
  for (const [name, fault] of Object.entries(faults)) {
    const places = await Promise.all(allTargets.map((target) => prepare(target, fault)));
    const ended = await Promise.all(places.map((place) => logIn(service, place)));
    for (const login of ended) logins.set(`${login.target.name} ${name}`, login);
  }
});

afterAll(() => untrusted?.close());

const unknownError = { status: 500, error: 'internal_server_error' };
const noVerdict = { status: 400, error: 'invalid_grant' };
const throttled = { status: 429, error: 'too_many_requests' };

/** The error of a login with a fault. An issuer without keys has heard of no credential. */
function errorOf(target: Target, fault: string) {
  if (fault === 'answers 429') return throttled;
  const hearsCredential = target !== targets.discovery && target !== targets.keys;
  return hearsCredential && fault === 'answers 404 in HTML' ? noVerdict : unknownError;
}

/**
 * What the log says of the provider's part in a login: its failure, and the calls that led to it.
 */
async function providersPart(
  request_id: string | null | undefined,
  event: 'provider_failed' | 'provider_gave_no_verdict' = 'provider_failed',
) {
  const failed = await logLine(running, event, { request_id });
  const calls = logLines(running).filter(
    (line) => line.event === 'provider_called' && line.request_id === request_id,
  );
  return { failed, calls };
}

/** As if one had come after the other; some do. */
const millisecondsOf = (calls: LogLine[]): number =>
  calls.reduce((sum, { milliseconds }) => sum + Number(milliseconds), 0);

describe.each(allTargets)('$name', (target) => {
  test('logs a person in when nothing is wrong', async () => {
    const { status, app } = await logIn(
      service,
      await prepareLogin(service, standIn.openScene(), target),
    );
    expect(status).toBe(200);
    expect(await peopleOf(service, app)).toBe(1);
  });

  test('logs a person in when the answer is compressed, though nobody asked', async () => {
    const scene = standIn.openScene();
    scene.misbehave(target.endpoint, async (request, response) => {
      expect(request.headers['accept-encoding']).toBe('identity');
      const good = await (await fetch(`${scene.url}/elsewhere/${target.endpoint}`)).text();
      const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
      response.writeHead(200, headers).end(gzipSync(good));
    });
    const { status } = await logIn(service, await prepareLogin(service, scene, target));
    expect(status).toBe(200);
  });

  test.each(Object.keys(faults))(
    'an error in time, and nobody is logged in, when it %s',
    async (fault) => {
      const login = logins.get(`${target.name} ${fault}`);
      const error = errorOf(target, fault);
      expect(login).toMatchObject(error);
      const event = error === unknownError ? 'provider_failed' : 'provider_gave_no_verdict';
      const { calls } = await providersPart(login?.requestId, event);
      expect(calls.length).toBeGreaterThan(0);
      expect(millisecondsOf(calls)).toBeLessThan(throughWithin);
      expect(login && (await peopleOf(service, login.app))).toBe(0);
    },
  );

  test('an untrusted certificate is reported as such, and no credential is sent', async () => {
    const login = logins.get(`${target.name} shows a certificate that nobody has signed`);
    const { failed } = await providersPart(login?.requestId);
    const message = expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT');
    expect(failed.failure).toMatchObject({ code: 'unreachable', message });
    expect(reachedUntrusted).toBe(0);
  });

  test('a redirect is not followed', () => {
    const scene = logins.get(`${target.name} redirects to the right answer`)?.scene;
    // The operator's command has looked at the discovery document once.
    expect(scene?.calls(target.endpoint)).toBe(target === targets.discovery ? 2 : 1);
    expect(scene?.calls(`elsewhere/${target.endpoint}`)).toBe(0);
  });
});
