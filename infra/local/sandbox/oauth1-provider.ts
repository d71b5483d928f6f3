import { createHash, createHmac, randomBytes } from 'node:crypto';
import {
  type App,
  epochSeconds,
  newApps,
  type SandboxProvider,
  sendJson,
  validity,
} from './sandbox-provider.ts';

const verifyPath = '/account/verify_credentials.json';

/**
 * An OAuth 1.0 provider that tells a signed request whose token it carries, as Twitter has it.
 * @see https://developer.x.com/en/docs/x-api/v1/accounts-and-users/manage-account-settings/api-reference/get-account-verify_credentials
 */
export function createOAuth1Provider(url: string, id: string): SandboxProvider {
  const apps = newApps(id);
  const ours = apps['our-app'];
  const tokens = new Map<string, OAuth1Token>();
  const subjectOf = oauth1Verifier(tokens);

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
      tokens.set(access_token, { secret: access_secret, app: apps[audience ?? 'our-app'], subject, exp });
      return { access_token, access_secret };
    },
    async answer(path, { method = '', url: target = '', headers }, response) {
      const { href } = new URL(target, url);
      const subject = path === verifyPath ? subjectOf(method, href, headers.authorization) : undefined;
      if (subject === undefined)
        return sendJson(response, 401, { errors: [{ code: 32, message: 'Could not authenticate you.' }] });
      const id_str = createHash('sha256').update(subject).digest().readBigUInt64BE().toString();
      sendJson(response, 200, { id_str, screen_name: subject });
    },
  };
}

interface OAuth1Token {
  secret: string;
  subject: string;
  app: App;
  /** Epoch seconds. */
  exp: number;
}

/** Seconds that a client's clock may differ from ours. */
const timestampLeeway = 300;

/**
 * Says for whom a request signed by HMAC-SHA1 speaks; undefined for one that proves nothing. It shares no code with the library
 * by which the service signs, so that the two check each other.
 * @see RFC 5849, section 3.2
 */
function oauth1Verifier(tokens: ReadonlyMap<string, OAuth1Token>) {
  const seen = new Set<string>();
  return (method: string, url: string, authorization: string | undefined): string | undefined => {
    const parameters = parseOAuth1Header(authorization);
    const value = (name: string): string => parameters.get(name) ?? '';
    const token = tokens.get(value('oauth_token'));
    if (!token || token.app.id !== value('oauth_consumer_key') || token.exp <= epochSeconds())
      return undefined;
    if (!(Math.abs(epochSeconds() - Number(value('oauth_timestamp'))) <= timestampLeeway)) return undefined;
    const expected = oauth1Signature(method, url, parameters, token.app.secret, token.secret);
    if (value('oauth_signature') !== expected || value('oauth_signature_method') !== 'HMAC-SHA1')
      return undefined;
    const use = JSON.stringify([value('oauth_timestamp'), value('oauth_token'), value('oauth_nonce')]);
    if (seen.has(use)) return undefined;
    seen.add(use);
    return token.subject;
  };
}

/** The decoded parameters of an `Authorization: OAuth …` header; none of a malformed one. @see RFC 5849, section 3.5.1 */
export function parseOAuth1Header(header = ''): Map<string, string> {
  const pairs = header
    .replace(/^OAuth +/, '')
    .split(/, */)
    .map((pair) => /^(\w+)="([\w.~%-]*)"$/.exec(pair));
  const parameters = new Map(pairs.map((pair) => [pair?.[1] ?? '', decode(pair?.[2])]));
  return header.startsWith('OAuth ') && pairs.every(Boolean) && parameters.size === pairs.length
    ? parameters
    : new Map();
}

/** The signature of a request, whatever `oauth_signature` it has. @see RFC 5849, section 3.4 */
export function oauth1Signature(
  method: string,
  url: string,
  parameters: ReadonlyMap<string, string>,
  consumerSecret: string,
  tokenSecret: string,
): string {
  const { origin, pathname, searchParams } = new URL(url);
  const signed = [...searchParams, ...parameters].filter(([name]) => name !== 'oauth_signature');
  // All is ASCII once it is encoded, so code units are bytes; no byte of a name or value is less than the 1 between them.
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

function decode(text = ''): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}
