import { statSync } from 'node:fs';
import type { Grouping } from '../../lib/operator/command.ts';
import { digestOf, numberedLines, type ReadLine, repeatedIn } from './read-lines.ts';

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
  const { size } = statSync(file);
  if (!statSync(file).isFile())
    throw new Error('The lines are read several times: write them to a file first.');
  const conflicts = await conflictsIn(file, grouping);
  const shares = Math.max(1, Math.ceil(size / keptBytes));
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
  const repeated = await repeatedIn(file, () => digestedMembers(file, grouping));
  const groupsOf = new Map<string, Map<string, number>>();
  for await (const { line, group, member } of groupedLines(file, grouping)) {
    if (!repeated.has(digestOf(member))) continue;
    const groups = groupsOf.get(member) ?? new Map<string, number>();
    if (!groups.has(group)) groups.set(group, line);
    groupsOf.set(member, groups);
  }
  const conflicts = [...groupsOf].filter(([, groups]) => groups.size > 1);
  return new Map(
    conflicts.map(([member, groups]) => [
      member,
      `One subject has several external_ids: see lines ${[...groups.values()].slice(0, mostNamed).join(', ')}.`,
    ]),
  );
}

/** The most lines that a reason names. */
const mostNamed = 20;

async function* digestedMembers(file: string, grouping: Grouping) {
  for await (const { member } of groupedLines(file, grouping)) yield { digest: digestOf(member) };
}

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
