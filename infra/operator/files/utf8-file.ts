import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { decodeUtf8 } from '../../../lib/foundation/utf8.ts';

/**
 * Reads a file that an operator names.
 * @param named the file, for the message: `--settings: the file a.json`
 * @param file its path, or a descriptor
 * @throws Error for one that can't be read, or is not UTF-8
 */
export function readText(named: string, file: string | number): string {
  const bytes = readBytes(named, file);
  const text = decodeUtf8(bytes);
  const problem = encodingProblem(bytes);
  if (text === undefined || problem !== undefined) throw new Error(`${named} ${problem}.`);
  return text;
}

function readBytes(named: string, file: string | number): Buffer {
  try {
    return readFileSync(file);
  } catch {
    throw new Error(`${named} cannot be read.`);
  }
}

/** The problem of a file that is not UTF-8, and what to do: `is UTF-16; save it as UTF-8`. */
export function encodingProblem(bytes: Uint8Array): string | undefined {
  if (isUtf16(bytes)) return utf16Problem;
  if (isUtf8(bytes)) return undefined;
  // No byte of another character is a line feed.
  const lines = Buffer.from(bytes).toString('latin1').split('\n');
  const index = lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1')));
  return `is not UTF-8 in line ${index + 1}; ${latin1Advice}`;
}

const advice = 'save it as UTF-8';
export const utf16Problem = `is UTF-16; ${advice}`;

/** Advice on bytes that are not UTF-8: most often they are in a code page of Windows. */
export const latin1Advice = `if it is Latin-1 or Windows-1252, ${advice}`;

/**
 * Whether bytes begin as UTF-16 does, which Windows PowerShell writes: with a byte order mark, or
 * with an ASCII character, which has a NUL next to it.
 * @see RFC 4627, section 3
 */
export function isUtf16(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  return hasMark || first === 0 || second === 0;
}
