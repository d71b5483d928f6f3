// What an app of a public client does, with WebCrypto in place of the phone's key, and the sandbox in place of Apple or Google.
import { base64url, type PhoneKey, publicClient } from './public-client';
import { ServiceError, Session } from './session';

const { BASE = '', SANDBOX, CLIENT_ID = '', APP_TOKEN = '' } = process.env;

const bytesOf = (text: string) => new TextEncoder().encode(text);
const encoded = (bytes: ArrayBuffer) => base64url(String.fromCharCode(...new Uint8Array(bytes)));

/** A key that can't be exported, as that of a phone. */
async function newKey(): Promise<PhoneKey> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const { privateKey, publicKey } = await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify']);
  const { kty = '', crv = '', x = '', y = '' } = await crypto.subtle.exportKey('jwk', publicKey);
  return {
    publicJwk: async () => ({ kty, crv, x, y }), // nothing else: the service refuses a private part
    sign: async (text) => encoded(await crypto.subtle.sign(algorithm, privateKey, bytesOf(text))),
  };
}

function sessionWith(key: PhoneKey, texts: Map<string, string | null>): Session {
  const random = () => crypto.randomUUID();
  const source = publicClient({ service: BASE, client_id: CLIENT_ID, key, app_token: APP_TOKEN, random });
  const get = async (name: string) => texts.get(name) ?? null;
  return new Session(source, BASE, { get, set: async (name, value) => void texts.set(name, value) });
}

const texts = new Map<string, string | null>();
const session = sessionWith(await newKey(), texts);
const code = (error: unknown) => (error instanceof ServiceError ? error.code : Object(error).constructor.name);

// The provider gets the SHA-256 of the nonce, so that only who has the nonce can use the id token.
const nonce = await session.nonce();
const hash = encoded(await crypto.subtle.digest('SHA-256', bytesOf(nonce)));
const issued = await fetch(`${SANDBOX}/provider_f/credentials?subject=nora&nonce=${hash}`);
const { id_token } = await issued.json();
await session.logIn(id_token, nonce);
const thief = sessionWith(await newKey(), texts);
console.log('The same id token on another phone:', await thief.logIn(id_token, nonce).catch(code));

const first = await session.accessToken();
const before = texts.get('tokens') ?? null;
const [one, other] = await Promise.all([session.accessToken(first), session.accessToken(first)]);
console.log('One refresh for two requests:', one === other && one !== first);

const answered = JSON.parse(texts.get('tokens') ?? '').refresh_token;
texts.set('tokens', before); // The answer got lost on its way.
await session.accessToken(first);
console.log('The same refresh token after a lost answer:', JSON.parse(texts.get('tokens') ?? '').refresh_token === answered);

const now = Date.now;
Date.now = () => now() - 86_400_000;
await session.accessToken(await session.accessToken());
Date.now = now;
console.log('A refresh with a wrong clock: passed');

const copy = sessionWith(await newKey(), new Map(texts));
console.log('A copied refresh token, with another key:', await copy.accessToken(await session.accessToken()).catch(code));

await session.registerDevice({ platform: 'ios', token: 'ab'.repeat(32), token_type: 'apns' });
console.log('Related devices:', Object(await session.call('GET', '/v2/marketing/login/user/push_notifications/devices')).devices.length);

await session.logOut();
console.log('After the logout:', await session.accessToken().catch(code));
