import { hash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';

/** Changes a line before it is sent, or says why it is not sent. */
export type Rewrite = (text: string) => { text: string } | { reason: string };

/** A line of a file that is not empty; `repetition` says how many before it have the same text. */
export interface ReadLine {
  line: number;
  text: string;
  repetition: number;
  /** The reason why the line is not sent. */
  reason?: string;
}

/** The most bytes of a filter; with 50 million lines, it takes one in a hundred for a repetition. */
const mostFilterBytes = 64 * 1024 * 1024;
/** The most lines of a pipe, which cannot be read twice, so that the digest of each is kept. */
const mostPiped = 5_000_000;

/** The lines of a file, each a group of its own. It is read twice, and only the digests of lines that may stand in it repeatedly are kept. */
export async function* readLines(file: string, rewrite: Rewrite): AsyncGenerator<ReadLine[]> {
  const isPipe = !statSync(file).isFile();
  const counts = isPipe
    ? new Map<string, number>()
    : await repeatedIn(file, () => digestedLines(file, rewrite));
  for await (const { digest, ...read } of digestedLines(file, rewrite)) {
    const repetition = counts.get(digest) ?? 0;
    if (isPipe || counts.has(digest)) counts.set(digest, repetition + 1);
    if (isPipe && counts.size > mostPiped)
      throw new Error(`These are more than ${mostPiped} lines: write them to a file first.`);
    yield [{ ...read, repetition }];
  }
}

/** The digests that stand in a file repeatedly, and a few others, found with a Bloom filter. */
export async function repeatedIn(
  file: string,
  digests: () => AsyncIterable<{ digest: string }>,
): Promise<Map<string, number>> {
  const filter = new Uint8Array(Math.min(Math.ceil(statSync(file).size / 4) + 1, mostFilterBytes));
  const repeated = new Map<string, number>();
  for await (const { digest } of digests()) {
    let isNew = false;
    for (const offset of [0, 8, 16, 24]) {
      const bit = Number.parseInt(digest.slice(offset, offset + 8), 16) % (filter.length * 8);
      const before = filter[bit >> 3] ?? 0;
      filter[bit >> 3] = before | (1 << (bit & 7));
      isNew ||= filter[bit >> 3] !== before;
    }
    if (!isNew) repeated.set(digest, 0);
  }
  return repeated;
}

async function* digestedLines(file: string, rewrite: Rewrite) {
  for await (const { line, text } of numberedLines(file)) {
    const rewritten = { text, ...rewrite(text) };
    yield { line, ...rewritten, digest: digestOf(rewritten.text) };
  }
}

/** The digest of a text in hex. One that is a Buffer would take more memory than the text. */
export const digestOf = (text: string): string => hash('sha256', text, 'hex');

/** The lines of a file that are not empty, with their numbers from 1. */
export async function* numberedLines(file: string) {
  let line = 0;
  for await (const read of rawLines(file)) {
    line += 1;
    const text = read.replace(/^\ufeff/, '').trim();
    if (text !== '') yield { line, text };
  }
}

/** Node's readline also ends lines at U+2028 and U+2029, which may stand in a JSON text. */
async function* rawLines(file: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest;
}
