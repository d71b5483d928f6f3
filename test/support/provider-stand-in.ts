import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { afterAll } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { serve } from '../../infra/local/loopback-server.ts';

/** The app that the stand-in issues everything to. */
export const ourApp = 'our-app';

/** A P-256 key and a certificate for 127.0.0.1 that nobody else has signed, in one PEM text. */
export const selfSigned = readFileSync('test/support/throw-away-certificate.pem', 'utf8');

/** One scene at the stand-in: a base address whose endpoints answer as they should unless a test changes them. */
export interface Scene {
  /** Its endpoints are `…/verify`, `…/user_info`, `…/introspection`, `…/token_info`, `…/debug_token`, `…/token`. */
  url: string;
  /** What an endpoint does instead of its job. */
  misbehave: (endpoint: string, listener: RequestListener) => void;
  /** The same, where all that is wrong is the answer. */
  answer: (endpoint: string, answer: WrongAnswer) => void;
  /** Lets every endpoint do its job again. */
  behave: () => void;
  /** How often an address below the scene's own was called. */
  calls: (path: string) => number;
  /** An id token of the issuer that the scene is, signed by its key. A claim that is undefined is left out. The header makes it another JWT. */
  idToken: (claims?: Claims, header?: object) => Promise<string>;
  /** Signs with a new key from now on, and publishes that one alone. */
  rotateKey: () => void;
}

/** The claims that a test sets, or leaves out. */
export type Claims = { [Name in keyof JWTPayload]?: JWTPayload[Name] | undefined };

interface WrongAnswer {
  status: number;
  /** An object is sent as JSON. */
  body?: unknown;
  headers?: OutgoingHttpHeaders;
}

export interface ProviderStandIn {
  url: string;
  openScene: () => Scene;
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
};

/**
 * Stands in for providers of every family, with all that can go wrong with them at the network's edge. To be
 * awaited when a test file is loaded; it ends after the file's tests.
 */
export async function startProviderStandIn(): Promise<ProviderStandIn> {
  const signingKeys = new Map<string, ReturnType<typeof newSigningKey>>();
  const signingKey = (path: string) => {
    const key = signingKeys.get(path) ?? newSigningKey();
    signingKeys.set(path, key);
    return key;
  };
  const misbehaviour = new Map<string, RequestListener>();
  const called = new Map<string, number>();
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? '', server.url);
    called.set(pathname, (called.get(pathname) ?? 0) + 1);
    const misbehave = misbehaviour.get(pathname);
    if (misbehave) return misbehave(request, response);
    const [, scene, ...below] = pathname.split('/');
    const endpoint = below.at(-1) ?? '';
    const good =
      endpoint === 'jwks'
        ? { keys: [(await signingKey(`/${scene}`)).jwk] }
        : goodAnswers[endpoint]?.(`${server.url}/${scene}`);
    sendJson(response, good ? 200 : 404, good ?? {});
  };
  const server = await serve(answer);
  afterAll(() => server.close());
  let scenes = 0;
  return {
    url: server.url,
    openScene: () => {
      const path = `/scene-${++scenes}`;
      const url = `${server.url}${path}`;
      const misbehave: Scene['misbehave'] = (endpoint, listener) =>
        void misbehaviour.set(`${path}/${endpoint}`, listener);
      return {
        url,
        misbehave,
        answer: (endpoint, { status, body = '', headers }) =>
          misbehave(endpoint, (_request, response) => {
            response.writeHead(status, { 'content-type': 'application/json', ...headers });
            response.end(typeof body === 'string' ? body : JSON.stringify(body));
          }),
        behave: () => {
          for (const address of misbehaviour.keys()) {
            if (address.startsWith(`${path}/`)) misbehaviour.delete(address);
          }
        },
        calls: (below) => called.get(`${path}/${below}`) ?? 0,
        idToken: async (claims, header) => {
          const { kid, privateKey } = await signingKey(path);
          const { iat = Math.floor(Date.now() / 1000) } = claims ?? {};
          const all = { sub: 'alice', iss: url, aud: ourApp, iat, exp: iat + 86_400, ...claims };
          return new SignJWT(JSON.parse(JSON.stringify(all)))
            .setProtectedHeader({ alg: 'ES256', kid, ...header })
            .sign(privateKey, { crit: { strange: true } });
        },
        rotateKey: () => void signingKeys.delete(path),
      };
    },
  };
}

export const sendJson = (response: ServerResponse, status: number, body: unknown): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

async function newSigningKey() {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const kid = randomUUID();
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'ES256' } };
}
