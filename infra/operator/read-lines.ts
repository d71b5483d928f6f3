import { createReadStream } from 'node:fs';
import * as v from 'valibot';
import type { Grouping } from '../../lib/operator/command.ts';

/** Changes a line before it is sent, or says why it is not sent. */
type Rewrite = (text: string) => { text: string } | { reason: string };

const longestLine = 250_000;
/**
 * The UTF-16 code units after which the rest of a line is not read: it is too long even if each
 * character takes two.
 */
const mostKept = 2 * longestLine + 1;
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

const rejectLong = `
  UPDATE lines SET reason = 'The line is longer than ${longestLine} characters.'
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
    // White space at the end must not make a line short that was cut.
    const given = read.length > mostKept ? read : read.trim();
    if (given === '') continue;
    const { text, reason } = { text: given, reason: null, ...rewrite?.(given) };
    const { group = null, member = null } = groupOf(text, grouping) ?? {};
    insert.run(line, text, reason, group, member);
  }
  database.exec(`${rejectConflicts}; ${rejectLong}; ${rejectExcess}; COMMIT`);
  for (const row of database.prepare(readInGroups).iterate()) yield v.parse(lineSchema, row);
}

/**
 * The raw lines of a file; one that is too long is cut. Node's readline would also end them at
 * U+2028 and U+2029, which JSON texts may contain.
 */
async function* rawLines(file: string): AsyncGenerator<string> {
  let line = '';
  try {
    for await (const chunk of createReadStream(file, 'utf8')) {
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
