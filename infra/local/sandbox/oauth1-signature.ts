import { createHmac } from 'node:crypto';

export type Parameter = readonly [name: string, value: string];

interface OAuth1Request {
  method: string;
  /** Absolute; its query takes part in the signature. */
  url: string;
  /** The protocol parameters and those of a form body, decoded, without `realm` and `oauth_signature`. */
  parameters: readonly Parameter[];
}

/**
 * The text that an OAuth 1.0 request is signed over.
 *
 * @see RFC 5849, section 3.4.1
 */
export function signatureBaseString({ method, url, parameters }: OAuth1Request): string {
  const { origin, pathname, searchParams } = new URL(url);
  const normalized = normalizeParameters([...searchParams, ...parameters]);
  return [method.toUpperCase(), `${origin}${pathname}`, normalized].map(percentEncode).join('&');
}

/**
 * Base64 of HMAC-SHA1 over the base string.
 *
 * @see RFC 5849, section 3.4.2
 */
export function hmacSha1Signature(baseString: string, consumerSecret: string, tokenSecret: string): string {
  const key = `${percentEncode(consumerSecret)}&${percentEncode(tokenSecret)}`;
  return createHmac('sha1', key).update(baseString).digest('base64');
}

/** @see RFC 5849, section 3.4.1.3.2 */
function normalizeParameters(parameters: readonly Parameter[]): string {
  return parameters
    .map(([name, value]) => [percentEncode(name), percentEncode(value)] as const)
    .sort(([nameA, valueA], [nameB, valueB]) => compareBytes(nameA, nameB) || compareBytes(valueA, valueB))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}

/** Both are ASCII by now, so code units are bytes. */
function compareBytes(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** @see RFC 5849, section 3.6 */
function percentEncode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
