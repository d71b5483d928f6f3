import { createPrivateKey, createPublicKey, randomUUID, sign } from 'node:crypto';
import { jwtSignature, type PhoneKey, publicClient } from './public-client';
import { backendAt, ServiceError, Session, type TokenSource, type Vault } from './session';

interface Input {
  /** The address of the backend, or the public client with its key, a PKCS #8 in base64. */
  source: string | { client_id: string; app_token: string; private_key: string };
  base_url: string;
  sandbox_url: string;
  subject: string;
  /** What an earlier start has stored. */
  stored?: Record<string, string>;
}

const { source, base_url, sandbox_url, subject, stored }: Input = JSON.parse(process.argv[2] ?? '');

let refreshes = 0;
const untold = globalThis.fetch;
globalThis.fetch = (url, init) => {
  if (/\/refresh$|=refresh_token&/.test(`${init?.body} ${url}`)) refreshes += 1;
  if (!init?.signal) throw new Error('A request without a time limit would hold up all others.');
  return untold(url, init);
};

function vaultOf(texts: Map<string, string>): Vault {
  return {
    get: async (name) => texts.get(name) ?? null,
    set: async (name, value) => {
      if (value === null) texts.delete(name);
      else texts.set(name, value);
    },
  };
}

function sourceOf(): TokenSource {
  if (typeof source === 'string') return backendAt(source);
  const { private_key, ...client } = source;
  const key = createPrivateKey({ key: Buffer.from(private_key, 'base64'), format: 'der', type: 'pkcs8' });
  const { x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' });
  const phoneKey: PhoneKey = {
    publicJwk: async () => ({ kty: 'EC', crv: 'P-256', x, y }),
    // The form in which the Secure Enclave and the Keystore sign.
    sign: async (text) => jwtSignature(sign('sha256', Buffer.from(text), key).toString('base64')),
  };
  return publicClient({ ...client, service: base_url, key: phoneKey, random: randomUUID });
}

/** What has logged the person in. */
async function logIn(session: Session, person = subject): Promise<[string, string]> {
  const nonce = await session.nonce();
  const query = new URLSearchParams({ subject: person, nonce });
  const { id_token } = await (await untold(`${sandbox_url}/provider_f/credentials?${query}`)).json();
  await session.logIn(id_token, nonce);
  return [id_token, nonce];
}

const outcomeOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'success',
    (error) => (error instanceof ServiceError ? error.code : error.constructor.name),
  );

const texts = new Map(Object.entries(stored ?? {}));
const session = new Session(sourceOf(), base_url, vaultOf(texts));
const change = (tokens: object): void => {
  texts.set('tokens', JSON.stringify({ ...JSON.parse(texts.get('tokens') ?? ''), ...tokens }));
};

async function firstStart(): Promise<object> {
  const used = await logIn(session);
  await session.registerDevice({ platform: 'ios', token: subject, token_type: 'fcm' });
  const path = '/v2/marketing/login/user/push_notifications/devices';
  const { devices } = await session.call<{ devices: object[] }>('GET', path);

  const before = await session.accessToken();
  change({ expires_at: 0 });
  const [one, other] = await Promise.all([session.accessToken(), session.accessToken()]);
  const atOnce = refreshes;
  change({ access_token: 'rejected' });
  await session.call('GET', path);

  const another = new Session(sourceOf(), base_url, vaultOf(new Map()));
  await logIn(another);
  const logged_out = await another.accessToken();
  await another.logOut();
  return {
    devices: devices.length,
    renewed: one !== before && one === other,
    refreshes: [atOnce, refreshes],
    same_nonce: await outcomeOf(session.logIn(...used)),
    after_logout: await outcomeOf(another.accessToken()),
    logged_out,
    stored: Object.fromEntries(texts),
  };
}

async function nextStart(): Promise<object> {
  const copy = new Session(sourceOf(), base_url, vaultOf(new Map(texts)));
  const ofAnother = await outcomeOf(copy.deleteAccount(() => logIn(copy, `${subject}-other`)));
  return {
    deletions: [ofAnother, await outcomeOf(session.deleteAccount(() => logIn(session)))],
    after_deletion: await outcomeOf(session.call('GET', '/v2/marketing/login/user')),
    stored: Object.fromEntries(texts),
  };
}

process.stdout.write(JSON.stringify(await (stored ? nextStart() : firstStart())));
