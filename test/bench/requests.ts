import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposableSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import * as v from 'valibot';
import { startStack } from '../../infra/local/stack.ts';
import { newPerson, newPhone } from '../support/people.ts';
import { newPhone as newPhoneWithKey, newPublicClient } from '../support/phone.ts';
import { type Answer, type Service, serviceOf, unique } from '../support/service.ts';
import { addresses, answer, type Operation, type TestRequest } from './serving-messages.ts';

/** Requests that are sent, and not measured, until the engine has compiled what they need. */
const warmUp = 300;
/** Requests of a batch, and batches; the median of the batches counts. */
const batch = 50;
const rounds = 21;

type Send = (to: Service) => Promise<Answer>;

/**
 * A kind of request: its cryptographic operations, and how one is prepared, by requests to this
 * process.
 */
type Kind = [Operation[], () => Promise<Send>];

// The store, the sandbox and the client are in this process, the handlers that are measured in
// another.
const print = process.stdout.write.bind(process.stdout);
process.stdout.write = () => true;
process.env.METRICS_NAMESPACE = 'login-service';
const stack = await startStack({ port: 0 });
const { demo } = stack;
const folder = mkdtempDisposableSync(join(tmpdir(), 'bench-'));
// Where the operator function is, which makes the public client.
const { awsEndpoint: aws_endpoint } = stack;
writeFileSync(join(folder.path, 'stack.json'), JSON.stringify({ aws_endpoint }));
const service = serviceOf(demo, folder.path);

const logIn = async (provider: string): Promise<Send> => {
  const form = await service.loginForm(provider);
  return (to) => to.token(form);
};
const appToken = await service.loginAppToken();
const { token } = await newPerson(service);
const ios = await newPhoneWithKey(service, await newPublicClient(service));
const event = { actor_type: 'custom', actor_id: 'risk-desk', comment: 'Looks good.' };
const kinds: Record<string, Kind> = {
  client_credentials: [
    ['RS256 sign'],
    async () => (to) => to.token({ grant_type: 'client_credentials' }),
  ],
  'Login, id token': [['RS256 verify', 'RS256 sign', 'HMAC'], () => logIn('provider_f')],
  'Login, provider called': [['RS256 sign', 'HMAC'], () => logIn('provider_a')],
  Refresh: [
    ['HMAC', 'RS256 sign', 'HMAC'],
    async () => {
      const { refreshToken } = await newPerson(service);
      return (to) => to.refresh(refreshToken);
    },
  ],
  'Refresh of a public client': [
    ['ES256 verify', 'HMAC', 'RS256 sign', 'HMAC'],
    async () => {
      const { refresh_token } = (await ios.logIn()).body;
      const form = { client_id: ios.client_id, grant_type: 'refresh_token', refresh_token };
      const dpop = await ios.proof('token');
      return (to) => to.form('/v2/marketing/oauth/token', form, { dpop });
    },
  ],
  'Introspect an access token': [['RS256 verify'], async () => (to) => to.introspect(token)],
  'List the signing keys': [[], async () => (to) => to.call('/v2/marketing/oauth/jwks')],
  'Register a device': [
    ['RS256 verify'],
    async () => (to) => to.register({ platform: 'android', token: unique('phone') }, appToken),
  ],
  'Relate a device': [
    ['RS256 verify'],
    async () => {
      const phone = await newPhone(service, appToken);
      const owner = await newPerson(service);
      return (to) => to.relate(phone, owner.token);
    },
  ],
  'List the devices': [['RS256 verify'], async () => (to) => to.listDevices(token)],
  'Create an access request': [[], async () => (to) => to.createAccessRequest({ body: {} })],
  'Add a comment': [[], async () => (to) => to.addEvent('comments', event)],
  Search: [[], async () => (to) => to.search()],
};

// Flags for Node, such as --cpu-prof, go to the process that is measured.
const surroundings = JSON.stringify([demo, stack.awsEndpoint]);
const serving = fork(join(import.meta.dirname, 'serving-process.ts'), [surroundings], {
  execArgv: process.argv.slice(2),
  stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
});
const { url, emptyUrl } = v.parse(addresses, (await once(serving, 'message'))[0]);
const handlers = serviceOf({ ...demo, base_url: url }, folder.path, fetch);
const emptyHandlers = serviceOf({ ...demo, base_url: emptyUrl }, folder.path, fetch);

async function ask(question: TestRequest): Promise<v.InferOutput<typeof answer>> {
  serving.send(question);
  return v.parse(answer, (await once(serving, 'message'))[0]);
}

async function prepared(prepare: () => Promise<Send>, count: number): Promise<Send[]> {
  const sends: Send[] = [];
  while (sends.length < count) sends.push(await prepare());
  return sends;
}

async function sendAll(sends: Send[], to: Service): Promise<void> {
  for (const send of sends) {
    const { status, text } = await send(to);
    if (status >= 300) throw new Error(`${status}: ${text}`);
  }
}

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** CPU milliseconds of one request, and of each part of its floor. */
async function measure([operations, prepare]: Kind) {
  await sendAll(await prepared(prepare, warmUp), handlers);
  const one = await prepared(prepare, 1);
  await ask({ ask: 'record' });
  await sendAll(one, handlers);
  const { storeRequests } = await ask({ ask: 'cpu' });
  const cpuOf = async (question: TestRequest) => (await ask(question)).milliseconds;
  const cpuAfter = (sent: Promise<void>) => sent.then(() => cpuOf({ ask: 'cpu' }));
  const batches: Record<
    'request' | 'server' | 'calls' | 'store' | 'defaults' | 'cryptography',
    number
  >[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const sends = await prepared(prepare, batch);
    await ask({ ask: 'cpu' });
    batches.push({
      request: await cpuAfter(sendAll(sends, handlers)),
      server: await cpuAfter(sendAll(sends, emptyHandlers)),
      calls: await cpuOf({ ask: 'calls', times: batch }),
      store: await cpuOf({ ask: 'store', times: batch }),
      defaults: await cpuOf({ ask: 'defaults', times: batch }),
      cryptography: await cpuOf({ ask: 'cryptography', times: batch, operations }),
    });
  }
  const each = (part: keyof (typeof batches)[number]) =>
    median(batches.map((one) => one[part])) / batch;
  const parts = [each('server'), each('calls'), each('cryptography')];
  const floor = parts.reduce((a, b) => a + b);
  return {
    storeRequests,
    request: each('request'),
    parts,
    floor,
    toDefaults: each('store') / each('defaults'),
  };
}

print(
  '| Request | Store requests | CPU ms | Server | Calls | Cryptography | Floor | Ratio | Store calls to the SDK’s defaults |\n',
);
print('|---|--:|--:|--:|--:|--:|--:|--:|--:|\n');
for (const [name, kind] of Object.entries(kinds)) {
  const { storeRequests, request, parts, floor, toDefaults } = await measure(kind);
  const figures = [request, ...parts, floor, request / floor, toDefaults].map((value) =>
    value.toFixed(2),
  );
  print(`| ${[name, storeRequests, ...figures].join(' | ')} |\n`);
}
const machine = `${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}`;
print(`\nNode ${process.version}, ${machine}; medians of ${rounds} batches of ${batch}.\n`);
serving.disconnect();
await stack.close();
folder.remove();
process.exit();
