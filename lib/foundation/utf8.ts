import { isUtf8 } from 'node:buffer';

/**
 * Decodes UTF-8, without a byte order mark at the beginning.
 *
 * Node's own decoders put U+FFFD in the place of any other bytes, so that several texts in Latin-1
 * become one.
 * @returns undefined for bytes that are not UTF-8
 * @see RFC 3629
 */
export const decodeUtf8 = (bytes: Uint8Array): string | undefined =>
  isUtf8(bytes) ? new TextDecoder().decode(bytes) : undefined;
