import type { IncomingMessage } from 'node:http';
import { decodeUtf8 } from '../../foundation/utf8.ts';
import { ProviderFailure } from './provider-failure.ts';

/** The most bytes of an answer, also after it is decompressed. */
const maxOutputLength = 64 * 1024;

/** Faults of a body that arrived, but can't be used. */
type BodyFault = 'answer_too_large' | 'answer_not_decompressed';

/** The body of an answer, decompressed, or its fault. */
export async function readBytes(response: IncomingMessage): Promise<Buffer | BodyFault> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    length += chunk.byteLength;
    if (length > maxOutputLength) return 'answer_too_large';
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  const encoding = response.headers['content-encoding']?.toLowerCase() ?? 'identity';
  return encoding === 'identity' || bytes.length === 0 ? bytes : decompressed(bytes, encoding);
}

/** Some APIs compress every answer, whatever they are asked for. */
async function decompressed(bytes: Buffer, encoding: string): Promise<Buffer | BodyFault> {
  // Not at the top: it would take two milliseconds of each cold start.
  const zlib = await import('node:zlib');
  try {
    switch (encoding) {
      case 'gzip':
      case 'x-gzip':
        return zlib.gunzipSync(bytes, { maxOutputLength });
      case 'br':
        return zlib.brotliDecompressSync(bytes, { maxOutputLength });
      case 'zstd':
        return zlib.zstdDecompressSync(bytes, { maxOutputLength });
      case 'deflate':
        // Many servers leave out the header of zlib. @see RFC 9110, section 8.4.1.2
        return hasZlibHeader(bytes)
          ? zlib.inflateSync(bytes, { maxOutputLength })
          : zlib.inflateRawSync(bytes, { maxOutputLength });
      default:
        return 'answer_not_decompressed';
    }
  } catch (error) {
    const isTooLarge =
      error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE';
    return isTooLarge ? 'answer_too_large' : 'answer_not_decompressed';
  }
}

/** @see RFC 1950, section 2.2 */
const hasZlibHeader = (bytes: Buffer): boolean =>
  bytes.length >= 2 && (bytes.readUInt8(0) & 0x0f) === 8 && bytes.readUInt16BE(0) % 31 === 0;

/** The body of an answer for a caller that reads it by itself; undefined if it can't be used. */
export async function readText(response: IncomingMessage): Promise<string | undefined> {
  const bytes = await readBytes(response);
  return typeof bytes === 'string' ? undefined : new TextDecoder().decode(bytes);
}

/** The media type of an answer in lower case, undefined for none or a malformed one. */
export const mediaTypeOf = ({ headers }: IncomingMessage): string | undefined =>
  headers['content-type']?.match(/^\s*([\w.+-]{1,64}\/[\w.+-]{1,64})\s*(;|$)/)?.[1]?.toLowerCase();

/** Whether a media type is JSON's own, or has its suffix (RFC 6839 section 3.1). */
export const isJsonType = (type: string): boolean => /^application\/([\w.+-]+\+)?json$/.test(type);

/**
 * The JSON of an answer, whatever its content type says, or the text of a JWT; undefined for an
 * error answer with neither.
 * @throws ProviderFailure
 */
export function parseBody(
  { status, type, url }: { status: number; type: string | undefined; url: string },
  bytes: Buffer,
): unknown {
  // An error answer says nothing about who somebody is, so damaged letters in it harm nobody.
  const isError = status >= 400;
  const text = isError ? new TextDecoder().decode(bytes) : decodeUtf8(bytes);
  if (text === undefined) throw new ProviderFailure('answer_not_utf8', url);
  if (type === 'application/jwt') return text.trim();
  try {
    return JSON.parse(text);
  } catch {
    if (isError) return undefined;
  }
  const isMalformed = type !== undefined && isJsonType(type);
  throw new ProviderFailure('answer_not_json', url, isMalformed ? '' : (type ?? 'no content type'));
}
