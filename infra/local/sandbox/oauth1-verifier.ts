import { timingSafeEqual } from 'node:crypto';
import type { RegisteredApp } from './apps.ts';
import { parseOAuth1Header } from './oauth1-header.ts';
import { hmacSha1Signature, signatureBaseString } from './oauth1-signature.ts';
import { epochSeconds } from './validity.ts';

export interface OAuth1Token {
  secret: string;
  subject: string;
  consumerKey: string;
  /** Epoch seconds. */
  exp: number;
}

interface SignedRequest {
  method: string;
  url: string;
  authorization: string | undefined;
}

const protocolParameters = new Set([
  'oauth_consumer_key',
  'oauth_token',
  'oauth_nonce',
  'oauth_timestamp',
  'oauth_signature_method',
  'oauth_signature',
  'oauth_version',
]);

/** Seconds that a client's clock may differ from ours. */
const timestampLeeway = 300;

/** Says for whom a signed OAuth 1.0 request speaks. */
export class OAuth1Verifier {
  readonly #consumers: readonly RegisteredApp[];
  readonly #tokens: ReadonlyMap<string, OAuth1Token>;
  readonly #seenNonces = new Set<string>();

  constructor(consumers: readonly RegisteredApp[], tokens: ReadonlyMap<string, OAuth1Token>) {
    this.#consumers = consumers;
    this.#tokens = tokens;
  }

  /**
   * Returns the token's subject, or undefined for a request that proves nothing.
   *
   * @see RFC 5849, section 3.2
   */
  verify({ method, url, authorization }: SignedRequest): string | undefined {
    const parameters = parseOAuth1Header(authorization);
    if (!parameters) return undefined;
    const values = new Map(parameters);
    if (values.size !== parameters.length) return undefined;
    if (!parameters.every(([name]) => protocolParameters.has(name))) return undefined;

    const value = (name: string) => values.get(name) ?? '';
    if (value('oauth_signature_method') !== 'HMAC-SHA1' || value('oauth_version') !== '1.0') return undefined;
    if (!isCurrent(value('oauth_timestamp')) || !value('oauth_nonce')) return undefined;

    const consumer = this.#consumers.find(({ id }) => id === value('oauth_consumer_key'));
    const token = this.#tokens.get(value('oauth_token'));
    if (!consumer || token?.consumerKey !== consumer.id || token.exp <= epochSeconds()) return undefined;

    const signed = parameters.filter(([name]) => name !== 'oauth_signature');
    const baseString = signatureBaseString({ method, url, parameters: signed });
    const signature = hmacSha1Signature(baseString, consumer.secret, token.secret);
    if (!isSame(signature, value('oauth_signature'))) return undefined;
    if (!this.#isNewNonce(value('oauth_timestamp'), value('oauth_token'), value('oauth_nonce')))
      return undefined;
    return token.subject;
  }

  /** @see RFC 5849, section 3.3 */
  #isNewNonce(...use: string[]): boolean {
    const key = JSON.stringify(use);
    if (this.#seenNonces.has(key)) return false;
    this.#seenNonces.add(key);
    return true;
  }
}

function isCurrent(timestamp: string): boolean {
  return /^[1-9]\d*$/.test(timestamp) && Math.abs(epochSeconds() - Number(timestamp)) <= timestampLeeway;
}

function isSame(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
