import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type {
  IncomingMessage,
  OutgoingHttpHeaders,
  RequestListener,
  ServerResponse,
} from 'node:http';
import { afterAll } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { readBody, serve } from '../../infra/local/loopback-server.ts';

/** The app that the stand-in issues everything to. */
export const ourApp = 'our-app';

/** A P-256 key and a certificate for 127.0.0.1 that nobody else has signed, in one PEM text. */
export const selfSigned = readFileSync('test/support/throw-away-certificate.pem', 'utf8');

/** A key of an app at a provider, in PEM form: Apple signs with one where others have a secret. */
export const privateKey = selfSigned.slice(
  selfSigned.indexOf('-----BEGIN PRIVATE'),
  selfSigned.indexOf('-----BEGIN CERT'),
);

/** The client secret that Apple wants, as provider settings have it. */
export const client_secret_jwt = {
  team_id: '1A234BFK46',
  key_id: '1ABC6523AA',
  private_key_secret: privateKey,
};

export type ProviderStandIn = Awaited<ReturnType<typeof startProviderStandIn>>;

/**
 * One scene at the stand-in: a base address whose endpoints answer as they should unless a test
 * changes them.
 */
export type Scene = ReturnType<ProviderStandIn['openScene']>;

/** Settings by which codes beside id tokens are exchanged at a scene, and their tokens revoked. */
export const codeExchangeAt = ({ url }: Pick<Scene, 'url'>) => ({
  token_url: `${url}/token`,
  revocation_url: `${url}/revoke`,
  client_id: ourApp,
  client_secret: 'our-secret',
});

/** The claims that a test sets; those that are undefined are left out. */
export type Claims = { [Name in keyof JWTPayload]?: JWTPayload[Name] | undefined };

type Form = Record<string, string>;

export interface WrongAnswer {
  /** @default 200 */
  status?: number;
  /** An object is sent as JSON. */
  body?: unknown;
  headers?: OutgoingHttpHeaders;
}

/** What each endpoint answers when nothing is wrong: that alice has logged in to our app. */
const goodAnswers: Record<string, (url: string) => unknown> = {
  verify: () => ({ id_str: 'alice' }),
  user_info: () => ({ sub: 'alice' }),
  introspection: () => ({ active: true, client_id: ourApp, sub: 'alice' }),
  token_info: () => ({ aud: ourApp, user_id: 'alice' }),
  debug_token: () => ({ data: { app_id: ourApp, is_valid: true, user_id: 'alice' } }),
  token: () => ({ access_token: 'an-access-token', token_type: 'bearer' }),
  'openid-configuration': (issuer) => ({ issuer, jwks_uri: `${issuer}/jwks` }),
  // RFC 7009: the answer to a revocation has no content.
  revoke: () => '',
};

/**
 * Stands in for every family of providers, with their faults. Await it when a test file is loaded;
 * it ends after the tests.
 */
export async function startProviderStandIn() {
  const signingKeys = new Map<string, ReturnType<typeof newSigningKey>>();
  const signingKey = (path: string) => {
    const key = signingKeys.get(path) ?? newSigningKey();
    signingKeys.set(path, key);
    return key;
  };
  const misbehaviour = new Map<
    string,
    (...call: [...Parameters<RequestListener>, Form]) => unknown
  >();
  const sent = new Map<string, Form[]>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? '', server.url);
    const form = Object.fromEntries(new URLSearchParams((await readBody(request)).toString()));
    sent.set(pathname, [...(sent.get(pathname) ?? []), form]);
    const misbehave = misbehaviour.get(pathname);
    if (misbehave) return void misbehave(request, response, form);
    const [, scene, ...below] = pathname.split('/');
    const endpoint = below.at(-1) ?? '';
    const good =
      endpoint === 'jwks'
        ? { keys: [(await signingKey(`/${scene}`)).jwk] }
        : goodAnswers[endpoint]?.(`${server.url}/${scene}`);
    reply(response, { status: good === undefined ? 404 : 200, body: good ?? {} });
  };
  const server = await serve(answer);
  afterAll(() => server.close());
  let scenes = 0;
  return {
    url: server.url,
    openScene: () => {
      const path = `/scene-${++scenes}`;
      const url = `${server.url}${path}`;
      const forms = (below: string) => sent.get(`${path}/${below}`) ?? [];
      return {
        /**
         * Its endpoints are `…/verify`, `…/user_info`, `…/introspection`, `…/token_info`,
         * `…/debug_token`, `…/token`, `…/revoke`.
         */
        url,
        /** What an endpoint does instead of its job. */
        misbehave: (endpoint: string, listener: RequestListener): void =>
          void misbehaviour.set(`${path}/${endpoint}`, listener),
        /** What an endpoint answers instead; it may depend on the form that it is sent. */
        answer: (
          endpoint: string,
          answer: WrongAnswer | ((form: Form) => Promise<WrongAnswer>),
        ): void =>
          void misbehaviour.set(`${path}/${endpoint}`, async (_request, response, form) =>
            reply(response, typeof answer === 'function' ? await answer(form) : answer),
          ),
        /** Lets every endpoint do its job again. */
        behave: (): void => {
          for (const address of misbehaviour.keys())
            if (address.startsWith(`${path}/`)) misbehaviour.delete(address);
        },
        /** How often an address below the scene's own was called. */
        calls: (below: string): number => forms(below).length,
        forms,
        /**
         * An id token of the issuer that the scene is, signed by its key. The header makes it
         * another JWT.
         */
        idToken: async (claims: Claims = {}, header: object = {}): Promise<string> => {
          const { kid, privateKey } = await signingKey(path);
          const { iat = Math.floor(Date.now() / 1000) } = claims;
          const all = { sub: 'alice', iss: url, aud: ourApp, iat, exp: iat + 86_400, ...claims };
          return new SignJWT(JSON.parse(JSON.stringify(all)))
            .setProtectedHeader({ alg: 'ES256', kid, ...header })
            .sign(privateKey, { crit: { strange: true } });
        },
        /** Signs with a new key from now on, and publishes that one alone. */
        rotateKey: (kid?: string): void => void signingKeys.set(path, newSigningKey(kid)),
      };
    },
  };
}

export function reply(
  response: ServerResponse,
  { status = 200, body = '', headers }: WrongAnswer,
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

async function newSigningKey(kid: string = randomUUID()) {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' } };
}
