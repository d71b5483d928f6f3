import { isoTime } from '../../lib/foundation/clock.ts';
import { steeringCharacter } from '../../lib/schema/plain-text.ts';

type Row = Record<string, unknown>;

/** Whether a command shows something, so that a terminal gets a table rather than JSON. */
export const isShown = (words: string): boolean => / (list|show|find)$/.test(words);

/**
 * A result for people: its fields, one a line, then each list of objects as a table. Epoch seconds
 * become ISO times.
 */
export function readable({ next, ...fields }: Row): string {
  const fieldLines: string[][] = [];
  const tables: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (!isRows(value)) fieldLines.push([name, cell(value, name)]);
    else if (value.length > 0) tables.push(tableOf(value));
    else tables.push(`No ${name.replaceAll('_', ' ')}.`);
  }
  const parts = fieldLines.length > 0 ? [columns(fieldLines), ...tables] : tables;
  if (typeof next === 'string')
    parts.push(`More follow: repeat the command with --after ${harmless(next)}`);
  return parts.join('\n\n');
}

/** A list of objects; an empty list counts as one. */
const isRows = (value: unknown): value is Row[] =>
  Array.isArray(value) &&
  value.every((member) => member instanceof Object && !Array.isArray(member));

function tableOf(rows: Row[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const heading = names.map((name) => name.replaceAll('_', ' ').toUpperCase());
  return columns([heading, ...rows.map((row) => names.map((name) => cell(row[name], name)))]);
}

/** Lines of cells as a text, each column as wide as its longest cell. */
function columns(lines: string[][]): string {
  const [first = []] = lines;
  const widths = first.map((_, column) => {
    const lengths = lines.map((line) => line[column]?.length ?? 0);
    return Math.max(...lengths);
  });
  const texts = lines.map((line) => {
    const cells = line.map((text, column) => text.padEnd(widths[column] ?? 0));
    return cells.join('  ').trimEnd();
  });
  return texts.join('\n');
}

/** Whether a number in a field of this name is a time, in epoch seconds. */
const isTime = (name: string): boolean => /_(at|from)$/.test(name);

/**
 * The value of a field, on one line.
 * @param name of the field: some numbers are times
 */
function cell(value: unknown, name: string): string {
  const isMissing = value === undefined || value === null || value === '';
  if (isMissing) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && isTime(name)) return isoTime(value);
  if (Array.isArray(value)) {
    const members = value.map((member) => cell(member, name));
    return members.join(', ') || 'none';
  }
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return harmless(text);
}

const steeringCharacters = new RegExp(steeringCharacter, 'gu');

/**
 * `\u202e`; two of these for a character outside the basic plane.
 * @see RFC 8259 section 7
 */
function escaped(character: string): string {
  const codeUnits = character.split('');
  return codeUnits.map((unit) => `\\u${hexOf(unit.charCodeAt(0))}`).join('');
}

const hexOf = (codeUnit: number): string => codeUnit.toString(16).padStart(4, '0');

/** A text of one line in which no character can steer a terminal. */
export const harmless = (text: string): string => text.replaceAll(steeringCharacters, escaped);

export type Output = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;

/**
 * Output that can't steer a terminal; escapes keep the value of JSON. A program gets everything as
 * it is.
 */
export const harmlessOn = (output: Output) => ({
  isTTY: output.isTTY,
  write: (text: string) =>
    output.write(output.isTTY ? text.split('\n').map(harmless).join('\n') : text),
});
