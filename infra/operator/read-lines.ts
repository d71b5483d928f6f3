import { createReadStream } from 'node:fs';
import * as v from 'valibot';
import { decodeUtf8 } from '../../lib/foundation/utf8.ts';
import type { Grouping } from '../../lib/operator/command.ts';
import { isUtf16, latin1Advice, utf16Problem } from './files/utf8-file.ts';

/** Changes a line before it is sent, or says why it is not sent. */
type Rewrite = (text: string) => { text: string } | { reason: string };

const longestLine = 250_000;
/**
 * The bytes after which the rest of a line is not read: it is too long even if each character takes
 * four.
 */
const mostKept = 4 * longestLine + 1;
/**
 * The most lines of a batch, and so of a group: the function should need no more than 10 seconds.
 */
export const mostLines = 100;
const mostCharactersOfGroup = 400_000;
/** The most lines that are named for a reason. */
export const mostNamed = 20;

/** A line of a file that is not empty. */
const lineSchema = v.object({
  line: v.number(),
  text: v.string(),
  /** The reason why the line is not sent. */
  reason: v.nullable(v.string()),
  /** The number of lines before it with the same text. */
  repetition: v.number(),
  /** The number of the line in its group, from 1, and how many lines the group has. */
  position: v.number(),
  size: v.number(),
  /** How many lines there are in the file. */
  total: v.number(),
});
export type ReadLine = v.InferOutput<typeof lineSchema>;

/**
 * All lines of the file. `person` and `member` are the group and the member of the `Grouping`, and
 * absent if the line has none. A line with a `reason` is not sent.
 */
const createTable =
  'CREATE TABLE lines (line INTEGER PRIMARY KEY, text TEXT, reason TEXT, person TEXT, member TEXT)';

/** Rejects lines whose member is in the groups of several persons. Names the first of each. */
const rejectConflicts = `
  WITH first_lines AS (
    SELECT member, min(line) AS line FROM lines
    WHERE member IS NOT NULL GROUP BY member, person
  ), numbered AS (
    SELECT member, line, row_number() OVER (PARTITION BY member ORDER BY line) AS number
    FROM first_lines
  ), conflicts AS (
    SELECT member, group_concat(line, ', ' ORDER BY line) FILTER (WHERE number <= ${mostNamed}) AS named
    FROM numbered GROUP BY member HAVING count(*) > 1
  )
  UPDATE lines SET reason = 'One subject has several external_ids: see lines ' || named || '.'
  FROM conflicts WHERE conflicts.member = lines.member`;

const tooLong = `The line is longer than ${longestLine} characters.`;

const rejectLong = `
  UPDATE lines SET reason = '${tooLong}'
  WHERE reason IS NULL AND length(text) > ${longestLine}`;

const tooLarge = `More than ${mostLines} lines, or ${mostCharactersOfGroup} characters, are about one person.`;

/** Rejects what no longer fits into the group of its person. */
const rejectExcess = `
  WITH counted AS (
    SELECT line, row_number() OVER person AS number, sum(length(text)) OVER person AS characters
    FROM lines WHERE reason IS NULL AND person IS NOT NULL
    WINDOW person AS (PARTITION BY person ORDER BY line)
  )
  UPDATE lines SET reason = '${tooLarge}'
  FROM counted WHERE counted.line = lines.line
    AND (number > ${mostLines} OR characters > ${mostCharactersOfGroup})`;

/**
 * Each group at the position of its first line. A line that is not sent, or is about no person, is
 * a group of its own, whose key is its number: no text equals a number.
 */
const readInGroups = `
  WITH grouped AS (
    SELECT *, CASE WHEN reason IS NULL THEN coalesce(person, line) ELSE line END AS key FROM lines
  )
  SELECT line, text, reason, row_number() OVER (PARTITION BY text ORDER BY line) - 1 AS repetition,
    row_number() OVER (PARTITION BY key ORDER BY line) AS position,
    count(*) OVER (PARTITION BY key) AS size, count(*) OVER () AS total
  FROM grouped
  ORDER BY min(line) OVER (PARTITION BY key), line`;

/**
 * Reads the lines of a file in their groups, each where its first line is. SQLite sorts them on the
 * disk: a file may be larger than the memory.
 * @throws Error if the file can't be read
 */
export async function* readLines(
  file: string,
  rewrite: Rewrite | undefined,
  grouping: Grouping | undefined,
) {
  // Imported here, since it prints a warning before Node 24.15.
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync('');
  database.exec(`${createTable}; BEGIN`);
  const insert = database.prepare('INSERT INTO lines VALUES (?, ?, ?, ?, ?)');
  let line = 0;
  for await (const read of rawLines(file)) {
    line += 1;
    const isFirst = line === 1;
    if (isFirst && isUtf16(bytesOf(read))) throw new Error(`The file ${file} ${utf16Problem}.`);
    const { text, reason } = readLine(read, rewrite);
    if (text === '' && reason === null) continue;
    const { group = null, member = null } = groupOf(text, grouping) ?? {};
    insert.run(line, text, reason, group, member);
  }
  database.exec(`${rejectConflicts}; ${rejectLong}; ${rejectExcess}; COMMIT`);
  for (const row of database.prepare(readInGroups).iterate()) yield v.parse(lineSchema, row);
}

/** Decodes a raw line and rewrites it, or says why it is not sent. */
function readLine(
  raw: string,
  rewrite: Rewrite | undefined,
): { text: string; reason: string | null } {
  if (raw.length > mostKept) return { text: '', reason: tooLong };
  const decoded = decodeUtf8(bytesOf(raw));
  if (decoded === undefined) return { text: '', reason: notUtf8 };
  const text = decoded.trim();
  return { text, reason: null, ...rewrite?.(text) };
}

const notUtf8 = `The line is not UTF-8. Check the file: ${latin1Advice}.`;

/** The bytes of a raw line. */
const bytesOf = (raw: string): Buffer => Buffer.from(raw, 'latin1');

/**
 * The raw lines of a file, with a character for each byte; one that is too long is cut. Node's
 * readline would also end them at U+2028 and U+2029, which JSON texts may contain.
 */
async function* rawLines(file: string): AsyncGenerator<string> {
  let line = '';
  try {
    for await (const chunk of createReadStream(file, 'latin1')) {
      const [end, ...next] = String(chunk).split('\n');
      if (line.length <= mostKept) line += end;
      for (const beginning of next) {
        yield line;
        line = beginning;
      }
    }
  } catch (error) {
    const isFolder = Object(error).code === 'EISDIR';
    throw new Error(
      isFolder ? `${file} is a folder, not a file.` : `The file ${file} cannot be read.`,
    );
  }
  yield line;
}

function groupOf(text: string, grouping: Grouping | undefined): ReturnType<Grouping> {
  try {
    return grouping?.(Object(JSON.parse(text)));
  } catch {
    return undefined;
  }
}
