import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { execa } from 'execa';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { serve } from '../../infra/local/loopback-server.ts';
import { createLoginApp, type LoginApp } from '../support/login-app.ts';
import { scratchFolder } from '../support/own-service.ts';
import { eventually, eventuallyHas } from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';
import { hexToken } from '../support/tokens.ts';
import recorded from './firebase-admin-requests.json' with { type: 'json' };

const service = sharedService();
const folder = scratchFolder();
const file = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};

const google = generateKeyPairSync('rsa', { modulusLength: 2048 });
const apple = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = ({ privateKey }: typeof google) =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/**
 * Each push that a stand-in was sent: where to, and the token. FCM gets an installation id in
 * another field.
 */
const pushes: string[] = [];
/**
 * What a stand-in answers for a token, once each; 200 after that. With 0, APNs closes the
 * connection instead.
 */
type Planned = { status: number; body: unknown; headers?: Record<string, string> };
const planned = new Map<string, Planned[]>();
const outcomeOf = (token: string): Planned =>
  planned.get(token)?.shift() ?? { status: 200, body: {} };
const problems: unknown[] = [];
const portOf = (server: { address(): unknown }) => Object(server.address()).port;

/**
 * Stands in for Google: the token endpoint (RFC 7523) and `projects.messages.send` of FCM HTTP v1.
 */
const fcm = createServer(async (request, response) => {
  const body = await textOf(request);
  await (request.url === '/token' ? grant(body, response) : push(request, body, response)).catch(
    (error) => {
      problems.push(error);
      response.writeHead(500).end('{}');
    },
  );
});
async function grant(body: string, response: ServerResponse): Promise<void> {
  const form = new URLSearchParams(body);
  expectEqual(form.get('grant_type'), 'urn:ietf:params:oauth:grant-type:jwt-bearer');
  const audience = `http://127.0.0.1:${portOf(fcm)}/token`;
  const { payload } = await jwtVerify(form.get('assertion') ?? '', google.publicKey, { audience });
  expectEqual(payload.scope, 'https://www.googleapis.com/auth/firebase.messaging');
  expectEqual(payload.iss, 'sender@demo.iam.gserviceaccount.com');
  response.end(
    JSON.stringify({ access_token: 'ya29.demo', expires_in: 3599, token_type: 'Bearer' }),
  );
}
/** Takes a push only as firebase-admin 14.5.1 was recorded to send it. */
async function push(
  { method, url, headers }: IncomingMessage,
  text: string,
  response: ServerResponse,
) {
  const body = JSON.parse(text);
  const kind = 'fid' in body.message ? 'fid' : 'token';
  const token: string = body.message[kind];
  const { authorization, 'content-type': type } = headers;
  body.message[kind] = 'TOKEN';
  expect({ method, url, authorization, type, body }).toEqual(recorded[kind]);
  pushes.push(`${kind} ${token}`);
  const { status, body: answer, headers: more } = outcomeOf(token);
  response
    .writeHead(status, { 'content-type': 'application/json', ...more })
    .end(JSON.stringify(answer));
}

/**
 * Stands in for a gateway of APNs: HTTP/2, a provider token (JWT, ES256), and the token in the
 * path.
 */
const apns = (gateway: string) =>
  createHttp2Server(async (request, response) => {
    const { authorization = '', 'apns-topic': topic, 'apns-push-type': type } = request.headers;
    const jwt = authorization.replace(/^bearer /, '');
    const { payload } = await jwtVerify(jwt, apple.publicKey);
    expectEqual(decodeProtectedHeader(jwt), { alg: 'ES256', kid: 'KEY1234567' });
    expectEqual(
      [payload.iss, request.method, topic, type],
      ['TEAM123456', 'POST', 'com.example.app', 'alert'],
    );
    const [, token = ''] = request.url.match(/^\/3\/device\/([0-9a-f]+)$/) ?? [];
    expectEqual(JSON.parse(await textOf(request)), {
      aps: { alert: { title: 'Hello', body: 'Something is new.' } },
    });
    pushes.push(`${gateway} ${token}`);
    const { status, body, headers } = outcomeOf(token);
    if (status === 0)
      return request.stream.session?.destroy(body instanceof Error ? body : undefined);
    response.writeHead(status, { 'apns-id': 'EC1BF194-B3B2-424A-89A9-5A918A6E6B5E', ...headers });
    response.end(status === 200 ? '' : JSON.stringify(body));
  });
const [production, sandbox] = [apns('production'), apns('sandbox')];

/** A stand-in has no other way to fail the test. */
function expectEqual(found: unknown, wanted: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(wanted)) problems.push({ found, wanted });
}

// A connection that the server closes while the worker sends is an answer less, and a push more.
fcm.keepAliveTimeout = 0;
beforeEach(() => void pushes.splice(0));

const servers = [fcm, production, sandbox];
for (const server of servers) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}
afterAll(() => {
  for (const server of servers) server.close();
});

const fcmError = (status: number, code: string, ...details: object[]): Planned => ({
  status,
  body: { error: { code: status, message: 'An error.', status: code, details } },
});
const detail = (errorCode: string) => ({
  '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError',
  errorCode,
});
const violation = (field: string) => ({
  '@type': 'type.googleapis.com/google.rpc.BadRequest',
  fieldViolations: [{ field, description: 'Invalid value' }],
});
const apnsError = (status: number, reason: string, more = {}): Planned => ({
  status,
  body: { reason, ...more },
});
const later = (answer: Planned): Planned => ({ ...answer, headers: { 'retry-after': '1' } });

/** Kinds of devices, and where their pushes arrive. */
const kinds = {
  android: { device: { platform: 'android' }, field: 'token' },
  installation: { device: { platform: 'android', token_type: 'fid' }, field: 'fid' },
  iosOfFirebase: { device: { platform: 'ios', token_type: 'fcm' }, field: 'token' },
  ios: { device: { platform: 'ios' }, field: 'production' },
  iosSandbox: { device: { platform: 'ios', environment: 'sandbox' }, field: 'sandbox' },
};
const future = Date.now() + 3_600_000;
/** What the push service answers about a device of a kind, and what the worker makes of it. */
const devices: [
  kind: keyof typeof kinds,
  outcome: 'sent' | 'dead' | 'failed',
  ...answers: Planned[],
][] = [
  ['android', 'sent'],
  [
    'android',
    'sent',
    later(fcmError(429, 'RESOURCE_EXHAUSTED', detail('QUOTA_EXCEEDED'))),
    later(fcmError(503, 'UNAVAILABLE', detail('UNAVAILABLE'))),
  ],
  ['android', 'dead', fcmError(404, 'NOT_FOUND', detail('UNREGISTERED'))],
  [
    'android',
    'dead',
    fcmError(400, 'INVALID_ARGUMENT', detail('INVALID_ARGUMENT'), violation('message.token')),
  ],
  ['android', 'failed', fcmError(400, 'INVALID_ARGUMENT', violation('message.data'))],
  ['android', 'failed', fcmError(403, 'PERMISSION_DENIED', detail('SENDER_ID_MISMATCH'))],
  ['android', 'failed', fcmError(403, 'PERMISSION_DENIED')],
  ['android', 'failed', fcmError(401, 'UNAUTHENTICATED')],
  ['android', 'sent', later(fcmError(500, 'INTERNAL', detail('INTERNAL')))],
  ['installation', 'sent'],
  ['installation', 'dead', fcmError(404, 'NOT_FOUND', detail('UNREGISTERED'))],
  ['installation', 'dead', fcmError(400, 'INVALID_ARGUMENT', violation('message.fid'))],
  ['installation', 'failed', fcmError(404, 'NOT_FOUND')],
  ['iosOfFirebase', 'sent'],
  ['android', 'failed', ...Array(6).fill(later(fcmError(503, 'UNAVAILABLE')))],
  ['ios', 'sent'],
  ['iosSandbox', 'sent'],
  [
    'ios',
    'sent',
    later(apnsError(429, 'TooManyRequests')),
    later(apnsError(503, 'ServiceUnavailable')),
  ],
  ['ios', 'dead', apnsError(410, 'Unregistered', { timestamp: future })],
  ['ios', 'dead', apnsError(410, 'ExpiredToken', { timestamp: future })],
  ['ios', 'failed', apnsError(410, 'Unregistered', { timestamp: 1 })],
  ['ios', 'dead', apnsError(400, 'BadDeviceToken')],
  ['ios', 'failed', apnsError(400, 'DeviceTokenNotForTopic')],
  ['ios', 'failed', apnsError(403, 'ExpiredProviderToken')],
  ['ios', 'failed', apnsError(403, 'InvalidProviderToken')],
  ['ios', 'sent', later(apnsError(500, 'InternalServerError'))],
];

const account = {
  project_id: 'demo',
  client_email: 'sender@demo.iam.gserviceaccount.com',
  private_key: pem(google),
  token_uri: `http://127.0.0.1:${portOf(fcm)}/token`,
};
const googleVariables = {
  GOOGLE_FILE: file('account.json', JSON.stringify(account)),
  FCM: `http://127.0.0.1:${portOf(fcm)}`,
};
const appleVariables = {
  APNS_FILE: file('key.p8', pem(apple)),
  APNS_KEY_ID: 'KEY1234567',
  APNS_TEAM_ID: 'TEAM123456',
  APNS_TOPIC: 'com.example.app',
  APNS: `http://127.0.0.1:${portOf(production)}`,
  APNS_SANDBOX: `http://127.0.0.1:${portOf(sandbox)}`,
};
function startWorker({ client_id, client_secret }: LoginApp, variables: Record<string, string>) {
  const env = {
    BASE: service.demo.base_url,
    CLIENT_ID: client_id,
    CLIENT_SECRET: client_secret,
    ...variables,
  };
  return execa(process.execPath, ['docs/examples/send-push.mjs'], {
    env,
    extendEnv: false,
    reject: false,
  });
}
async function runWorker(app: LoginApp, variables: Record<string, string>) {
  const { exitCode, stdout, stderr } = await startWorker(app, variables);
  return { exitCode, stdout, stderr, counts: stdout.split('\n').at(-1) };
}
const newApp = () => createLoginApp(service, unique('app'), { platforms: ['ios', 'android'] });

test('the worker sends to every device, tries again what may be tried again, and reports dead tokens', async () => {
  const app = await newApp();
  const appToken = await service.loginAppToken(app);
  const secrets: string[] = [];
  const alive: string[] = [];
  const expected: string[] = [];
  for (const [kind, outcome, ...answers] of devices) {
    const { device, field } = kinds[kind];
    const token = field === 'production' || field === 'sandbox' ? hexToken() : unique('push-token');
    planned.set(token, answers);
    const { id } = (await service.register({ ...device, token }, appToken)).body;
    secrets.push(token, id);
    if (outcome !== 'dead') alive.push(id);
    // The worker tries again after exactly those answers that say when, five times at most.
    const repeated = answers.filter(({ headers }) => headers).slice(0, 5);
    expected.push(...Array(repeated.length + 1).fill(`${field} ${token}`));
  }
  const listed = async (): Promise<string[]> => {
    const shards = Array.from({ length: 16 }, (_, shard) =>
      service.recipients(`shard=${shard}`, app),
    );
    return (await Promise.all(shards)).flatMap(({ body }) =>
      body.recipients.map(({ device_id }: { device_id: string }) => device_id),
    );
  };
  await eventuallyHas(devices.length, listed);

  const { exitCode, stdout, counts } = await runWorker(app, {
    ...googleVariables,
    ...appleVariables,
  });
  const count = (wanted: string) => devices.filter(([, outcome]) => outcome === wanted).length;
  const due = { sent: count('sent'), dead: count('dead'), failed: count('failed'), skipped: 0 };
  expect({ exitCode, counts }).toEqual({ exitCode: 1, counts: JSON.stringify(due) });
  expect(problems).toEqual([]);
  expect(pushes.toSorted()).toEqual(expected.toSorted());
  expect((await listed()).toSorted()).toEqual(alive.toSorted());
  for (const secret of secrets) expect(stdout).not.toContain(secret);
  const reasons = [
    'INVALID_ARGUMENT',
    'SENDER_ID_MISMATCH',
    'PERMISSION_DENIED',
    'DeviceTokenNotForTopic',
  ];
  for (const reason of reasons) expect(stdout).toContain(`"dead":false,"reason":"${reason}"}`);
});

test.each([
  ['FCM', googleVariables, 'token', 'android', () => unique('push-token')],
  ['APNs', appleVariables, 'production', 'ios', hexToken],
])(
  'with %s alone, the worker skips the other devices',
  async (_, variables, field, platform, newToken) => {
    const app = await newApp();
    const appToken = await service.loginAppToken(app);
    const token = newToken();
    await service.register({ platform, token }, appToken);
    const other =
      platform === 'ios'
        ? { platform: 'android', token: 'other' }
        : { platform: 'ios', token: hexToken() };
    await service.register(other, appToken);
    const { exitCode, counts } = await eventually(
      () => runWorker(app, variables),
      ({ counts = '' }) => /"sent":1,.*"skipped":1/.test(counts),
    );
    expect({ exitCode, counts }).toEqual({
      exitCode: 0,
      counts: '{"sent":1,"dead":0,"failed":0,"skipped":1}',
    });
    expect(pushes).toContain(`${field} ${token}`);
  },
);

test.each([
  ['closes', undefined, 'The connection was closed.'],
  ['breaks', new Error('broken'), 'Session closed with error code 2'],
])(
  'a push during which APNs %s the connection is sent again, on another one',
  async (_, body, reason) => {
    const app = await newApp();
    const token = hexToken();
    planned.set(token, [{ status: 0, body }]);
    await service.register({ platform: 'ios', token }, await service.loginAppToken(app));
    const { exitCode, stdout } = await eventually(
      () => runWorker(app, appleVariables),
      ({ counts = '' }) => !counts.includes('"sent":0,"dead":0,"failed":0'),
    );
    expect(stdout).toContain(`"status":503,"dead":false,"reason":"${reason}"}`);
    expect({ exitCode, pushed: pushes.filter((push) => push.endsWith(token)).length }).toEqual({
      exitCode: 0,
      pushed: 2,
    });
  },
);

test('what is not set up right is a message, and the exit code 1', async () => {
  const app = await newApp();
  const wrong = await runWorker({ ...app, client_secret: 'wrong' }, googleVariables);
  const unauthorized =
    /^GET http.*\/recipients\?shard=\d+&limit=50: 401 \{"error":"invalid_client".*\}$/;
  expect(wrong).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(unauthorized),
  });
  const { GOOGLE_FILE } = googleVariables;
  for (const [variables, message] of [
    [
      { ...appleVariables, APNS_FILE: GOOGLE_FILE },
      `APNS_FILE: ${GOOGLE_FILE} holds no key for this.`,
    ],
    [{ GOOGLE_FILE: 'missing.json' }, expect.stringMatching(/no such .*'missing\.json'$/)],
    [
      { ...appleVariables, APNS_TOPIC: '' },
      'APNS_FILE needs APNS_KEY_ID, APNS_TEAM_ID and APNS_TOPIC.',
    ],
    [{}, 'Set GOOGLE_FILE, APNS_FILE or both.'],
  ] as const)
    expect(await runWorker(app, variables)).toMatchObject({ exitCode: 1, stderr: message });
});

test('a report that is rejected stops the worker, which does not print the id', async () => {
  const app = await newApp();
  const token = unique('push-token');
  planned.set(token, Array(9).fill(fcmError(404, 'NOT_FOUND', detail('UNREGISTERED'))));
  const { body } = await service.register(
    { platform: 'android', token },
    await service.loginAppToken(app),
  );
  const front = await serve(
    async ({ method, url = '', headers: { authorization = '' } }, response) => {
      if (method === 'DELETE') return response.writeHead(403).end('{"error":"forbidden"}');
      response.end(
        await (await fetch(service.demo.base_url + url, { headers: { authorization } })).text(),
      );
    },
  );
  const { exitCode, stderr } = await eventually(
    () => runWorker(app, { ...googleVariables, BASE: front.url }),
    ({ exitCode }) => exitCode !== 0,
  );
  await front.close();
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: `DELETE ${front.url}/v2/marketing/push_notifications/devices/${body.id.slice(0, 10)}…: 403 {"error":"forbidden"}`,
  });
});

test('an address that nobody answers at is named before the worker tries again', async () => {
  const app = await newApp();
  const run = startWorker(app, { ...googleVariables, BASE: '127.0.0.1' });
  const [problem] = await once(run.stderr, 'data');
  run.kill();
  await run;
  expect(String(problem)).toMatch(
    /^GET 127\.0\.0\.1\/.*: Failed to parse URL .* \(Invalid URL\)$/m,
  );
});
