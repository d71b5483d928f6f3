import { hash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import type { Grouping } from '../../lib/operator/command.ts';

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
  const lines = () => rewrittenLines(file, rewrite);
  const counts = isPipe ? new Map<string, number>() : await repeatedIn(file, lines(), ({ text }) => text);
  for await (const read of lines()) {
    const digest = digestOf(read.text);
    const repetition = counts.get(digest) ?? 0;
    if (isPipe || counts.has(digest)) counts.set(digest, repetition + 1);
    if (isPipe && counts.size > mostPiped)
      throw new Error(`These are more than ${mostPiped} lines: write them to a file first.`);
    yield [{ ...read, repetition }];
  }
}

async function* rewrittenLines(file: string, rewrite: Rewrite) {
  for await (const { line, text } of numberedLines(file)) yield { line, text, ...rewrite(text) };
}

/** The digests of texts that stand in a file repeatedly, and of a few others, found with a Bloom filter. */
async function repeatedIn<Line>(file: string, lines: AsyncIterable<Line>, textOf: (line: Line) => string) {
  const filter = new Uint8Array(Math.min(Math.ceil(statSync(file).size / 4) + 1, mostFilterBytes));
  const repeated = new Map<string, number>();
  for await (const line of lines) {
    const digest = digestOf(textOf(line));
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

/** The digest of a text in hex. One that is a Buffer would take more memory than the text. */
const digestOf = (text: string): string => hash('sha256', text, 'hex');

/** The lines of a file that are not empty, with their numbers from 1. */
async function* numberedLines(file: string) {
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

/** The most lines of a group, and the most characters: they go into one batch. */
const largestGroup = { lines: 100, characters: 400_000 };
const tooLarge = `More than ${largestGroup.lines} lines, or ${largestGroup.characters} characters, are about one person.`;
/** About how many bytes of a file are sorted into groups at a time, in memory. */
const keptBytes = 4 * 1024 * 1024;

/**
 * The lines of a file in their groups, wherever in the file they stand. It is read once for each 4 MB of it, each time
 * for a share of the groups, so that no more than a share is in memory.
 * @throws Error for a pipe, which can be read only once
 */
export async function* groupLines(file: string, grouping: Grouping): AsyncGenerator<ReadLine[]> {
  const found = statSync(file);
  if (!found.isFile()) throw new Error('The lines are read several times: write them to a file first.');
  const conflicts = await conflictsIn(file, grouping);
  const shares = Math.max(1, Math.ceil(found.size / keptBytes));
  for (let share = 0; share < shares; share += 1) {
    const groups = new Map<string, { lines: ReadLine[]; characters: number }>();
    for await (const { line, text, group, member } of groupedLines(file, grouping)) {
      if (shares > 1 && Number.parseInt(digestOf(group).slice(0, 8), 16) % shares !== share) continue;
      const { lines, characters } = groups.get(group) ?? { lines: [], characters: 0 };
      const isFull =
        lines.length === largestGroup.lines || characters + text.length > largestGroup.characters;
      const reason = conflicts.get(member) ?? (isFull ? tooLarge : undefined);
      // A copy: the text itself keeps all that was read with it.
      const read = { line, text: Buffer.from(text).toString(), repetition: 0 };
      if (reason !== undefined) yield [{ ...read, reason }];
      else groups.set(group, { lines: [...lines, read], characters: characters + text.length });
    }
    for (const { lines } of groups.values()) yield lines;
  }
}

/** Why lines are not sent that have the same member in different groups, by the member. */
async function conflictsIn(file: string, grouping: Grouping): Promise<Map<string, string>> {
  const repeated = await repeatedIn(file, groupedLines(file, grouping), ({ member }) => member);
  const groupsOf = new Map<string, Map<string, number>>();
  for await (const { line, group, member } of groupedLines(file, grouping)) {
    if (!repeated.has(digestOf(member))) continue;
    const groups = groupsOf.get(member) ?? new Map<string, number>();
    if (!groups.has(group)) groups.set(group, line);
    groupsOf.set(member, groups);
  }
  const conflicts = [...groupsOf].filter(([, groups]) => groups.size > 1);
  return new Map(conflicts.map(([member, groups]) => [member, conflictAt([...groups.values()])]));
}

const conflictAt = (lines: number[]): string =>
  `One subject has several external_ids: see lines ${lines.slice(0, mostNamed).join(', ')}.`;

/** The most lines that a reason names. */
const mostNamed = 20;

/** The lines of a file with their groups and members; a line that is wrong is a group of its own. */
async function* groupedLines(file: string, grouping: Grouping) {
  for await (const { line, text } of numberedLines(file)) {
    const alone = `\n${line}`;
    const { group, member } = groupOf(text, grouping) ?? { group: alone, member: alone };
    yield { line, text, group, member };
  }
}

function groupOf(text: string, grouping: Grouping): ReturnType<Grouping> {
  try {
    return grouping(Object(JSON.parse(text)));
  } catch {
    return undefined;
  }
}
