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
  const single: string[][] = [];
  const lists: string[] = [];
  for (const [name, value] of Object.entries(fields)) {
    if (!isRows(value)) single.push([name, cell(value, name)]);
    else lists.push(value.length === 0 ? `No ${name.replaceAll('_', ' ')}.` : tableOf(value));
  }
  const parts = single.length > 0 ? [columns(single), ...lists] : lists;
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

function columns(lines: string[][]): string {
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const padded = lines.map((line) => line.map((text, column) => text.padEnd(widths[column] ?? 0)));
  return padded.map((line) => line.join('  ').trimEnd()).join('\n');
}

/** Whether a number in a field of this name is a time, in epoch seconds. */
const isTime = (name: string): boolean => /_(at|from)$/.test(name);

function cell(value: unknown, name: string): string {
  if (value === undefined || value === null || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number' && isTime(name)) return isoTime(value);
  if (Array.isArray(value)) return value.map((member) => cell(member, name)).join(', ') || 'none';
  return harmless(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

const steeringCharacters = new RegExp(steeringCharacter, 'gu');

/**
 * `\u202e`; two of these for a character outside the basic plane.
 * @see RFC 8259 section 7
 */
const escaped = (character: string): string =>
  character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');

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
