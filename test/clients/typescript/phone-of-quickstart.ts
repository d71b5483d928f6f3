import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
} from 'node:crypto';
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

/** What the service tells of the person. */
interface Account {
  id: string;
  guest?: true;
  identities: { profile?: { given_name?: string } }[];
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

/** @param key that of the public client, unless the phone has lost it */
function sourceOf(key = keyOfClient()): TokenSource {
  if (typeof source === 'string') return backendAt(source);
  const { private_key: _, ...client } = source;
  const { x = '', y = '' } = createPublicKey(key).export({ format: 'jwk' });
  const phoneKey: PhoneKey = {
    publicJwk: async () => ({ kty: 'EC', crv: 'P-256', x, y }),
    // The form in which the Secure Enclave and the Keystore sign.
    sign: async (text) => jwtSignature(sign('sha256', Buffer.from(text), key).toString('base64')),
  };
  return publicClient({ ...client, service: base_url, key: phoneKey, random: randomUUID });
}

function keyOfClient(): KeyObject {
  if (typeof source === 'string') return newKey();
  const key = Buffer.from(source.private_key, 'base64');
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
}

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

/**
 * What has logged the person in. With Apple's code and name, which the service ignores or reads as
 * the settings say.
 */
async function logIn(session: Session, person = subject): Promise<[string, string]> {
  const [id_token, nonce, code] = await signIn(session, person);
  await session.logIn(id_token, nonce, code, '{"name":{"firstName":"Ada"}}');
  return [id_token, nonce];
}

/** The id token, the nonce and the code of a login at the provider. */
async function signIn(session: Session, person: string): Promise<[string, string, string]> {
  const nonce = await session.nonce();
  const query = new URLSearchParams({ subject: person, nonce, with_code: 'true' });
  const issued = await untold(`${sandbox_url}/provider_f/credentials?${query}`);
  const { id_token, authorization_code } = await issued.json();
  return [id_token, nonce, authorization_code];
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
  const inAll = refreshes;

  const { identities } = await session.call<Account>('GET', '/v2/marketing/login/user');
  const another = new Session(sourceOf(), base_url, vaultOf(new Map()));
  await logIn(another);
  const logged_out = await another.accessToken();
  await another.logOut();
  return {
    devices: devices.length,
    renewed: one !== before && one === other,
    refreshes: [atOnce, inAll],
    same_login_again: await outcomeOf(session.logIn(...used)),
    after_logout: await outcomeOf(another.accessToken()),
    ...(typeof source === 'object' ? await withLostKey(used) : {}),
    told_by_app: identities[0]?.profile?.given_name,
    guests: await useGuests(),
    logged_out,
    stored: Object.fromEntries(texts),
  };
}

/**
 * The app of a public client after the phone has lost its key: a copy of the tokens shows the
 * login, and is forgotten.
 */
async function withLostKey(used: [string, string]): Promise<object> {
  const copied = new Map(texts);
  const copy = new Session(sourceOf(newKey()), base_url, vaultOf(copied));
  const rejected = await copy.accessToken();
  const lost_key = await outcomeOf(copy.accessToken(rejected));
  return { lost_key, kept: copied.size, stolen_login: await outcomeOf(copy.logIn(...used)) };
}

/** A guest who becomes a person, one whose identity somebody has, and one who deletes the account. */
async function useGuests(): Promise<unknown[]> {
  const path = '/v2/marketing/login/user';
  const begin = async () => {
    const guest = new Session(sourceOf(), base_url, vaultOf(new Map()));
    await guest.beginAsGuest();
    await guest.beginAsGuest();
    return { guest, before: await guest.call<Account>('GET', path) };
  };
  const { guest, before } = await begin();
  await guest.linkGuest(...(await signIn(guest, `${subject}-guest`)));
  const after = await guest.call<Account>('GET', path);

  const { guest: second } = await begin();
  const conflict = second.linkGuest(...(await signIn(second, subject)));
  const outcomes = [await outcomeOf(conflict)];
  outcomes.push(await outcomeOf(second.deleteAccount(() => logIn(second))));
  outcomes.push(await outcomeOf(second.call('GET', path)));
  const { guest: third, before: beforeMerge } = await begin();
  const [idToken, nonce] = await signIn(third, `${subject}-guest`);
  const { id, merged_from } = await third.mergeGuest(idToken, nonce);
  const now = await third.call<Account>('GET', path);
  const isMerged = merged_from === beforeMerge.id && id === after.id && now.id === after.id;
  return [
    before.guest ?? false,
    after.guest ?? false,
    before.id === after.id,
    ...outcomes,
    isMerged,
  ];
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
