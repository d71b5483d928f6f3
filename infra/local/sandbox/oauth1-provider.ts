import { createHash, createHmac, randomBytes } from 'node:crypto';
import { sendJson } from '../loopback-server.ts';
import {
  type App,
  epochSeconds,
  newApps,
  type SandboxProvider,
  validity,
} from './sandbox-provider.ts';

const verifyPath = '/account/verify_credentials.json';

interface OAuth1Token {
  secret: string;
  subject: string;
  app: App;
  /** Epoch seconds. */
  exp: number;
}

/**
 * An OAuth 1.0 provider, like Twitter: a signed request is answered with the person of its token.
 * @see
 *   https://developer.x.com/en/docs/x-api/v1/accounts-and-users/manage-account-settings/api-reference/get-account-verify_credentials
 */
export function createOAuth1Provider(sandboxUrl: string, id: string): SandboxProvider {
  const url = `${sandboxUrl}/${id}`;
  const apps = newApps(id);
  const ours = apps['our-app'];
  const tokens = new Map<string, OAuth1Token>();
  return {
    settings: {
      namespace: `${id}.sandbox`,
      verify_url: `${url}${verifyPath}`,
      consumer_key: ours.id,
      consumer_secret: ours.secret,
      subject_field: 'id_str',
    },
    async issue({ subject, audience, expired }) {
      const access_token = randomBytes(20).toString('base64url');
      const access_secret = randomBytes(30).toString('base64url');
      const { exp } = validity(expired);
      tokens.set(access_token, { secret: access_secret, app: apps[audience], subject, exp });
      return { access_token, access_secret };
    },
    async answer(path, { method = '', url: target = '', headers }, response) {
      const parameters = parseOAuth1Header(headers.authorization);
      const token = tokens.get(parameters.get('oauth_token') ?? '');
      const { href } = new URL(target, url);
      if (path !== verifyPath || !token || !isProven(method, href, parameters, token))
        return sendJson(response, 401, {
          errors: [{ code: 32, message: 'Could not authenticate you.' }],
        });
      const id_str = createHash('sha256')
        .update(token.subject)
        .digest()
        .readBigUInt64BE()
        .toString();
      sendJson(response, 200, { id_str, screen_name: token.subject });
    },
  };
}

/**
 * Whether a token signed a request (RFC 5849, section 3.2). It shares no code with the library that
 * the service signs with.
 */
function isProven(
  method: string,
  url: string,
  parameters: ReadonlyMap<string, string>,
  token: OAuth1Token,
) {
  const { app, exp, secret } = token;
  return (
    exp > epochSeconds() &&
    parameters.get('oauth_consumer_key') === app.id &&
    parameters.get('oauth_signature_method') === 'HMAC-SHA1' &&
    parameters.get('oauth_signature') ===
      oauth1Signature(method, url, parameters, app.secret, secret)
  );
}

/**
 * The decoded parameters of an `Authorization: OAuth …` header.
 * @see RFC 5849, section 3.5.1
 */
export function parseOAuth1Header(header = ''): Map<string, string> {
  const pairs = header.matchAll(/(\w+)="([\w.~%-]*)"(?:, *|$)/g);
  return new Map(
    Array.from(pairs, ([, name = '', value = '']) => [name, decodeURIComponent(value)]),
  );
}

/**
 * The signature that a request should have.
 * @see RFC 5849, section 3.4
 */
export function oauth1Signature(
  method: string,
  url: string,
  parameters: ReadonlyMap<string, string>,
  consumerSecret: string,
  tokenSecret: string,
): string {
  const { origin, pathname, searchParams } = new URL(url);
  const signed = [...searchParams, ...parameters].filter(([name]) => name !== 'oauth_signature');
  // Encoded, all is ASCII, so code units are bytes; all bytes of a name or value are greater than
  // the 1 between them.
  const sorted = signed.map((pair) => pair.map(encode).join('\x01')).sort();
  const normalized = sorted.map((pair) => pair.replace('\x01', '=')).join('&');
  const base = [method, `${origin}${pathname}`, normalized].map(encode).join('&');
  return createHmac('sha1', `${encode(consumerSecret)}&${encode(tokenSecret)}`)
    .update(base)
    .digest('base64');
}

/** @see RFC 5849, section 3.6 */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
