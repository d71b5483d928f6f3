import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { itemKind, readItem, updateItem } from './items.ts';
import { tableFormatKey } from './keys.ts';

/** The format that this version writes. An item that older code can't read takes a new one. */
export const writtenFormat = 1;

/** The formats that the schemas of all kinds of items can read. */
export const readableFormats: readonly number[] = [1];

/** The newest format of anything in the table. */
const tableFormatItem = itemKind(
  v.object({ format: v.pipe(v.number(), v.integer(), v.minValue(1)), updated_at: v.string() }),
  tableFormatKey,
);

/** Says why a version can't read the table; undefined if it can. */
export async function formatProblem(formats = readableFormats): Promise<string | undefined> {
  // A new table gets the item at the end of its first deployment.
  const format = (await readItem(tableFormatItem()))?.format ?? 1;
  if (formats.includes(format)) return undefined;
  return `The table has format ${format}, and this version reads format ${formats.join(', ')}. Use the version that wrote it, or a newer one.`;
}

/**
 * Notes that this version writes to the table. The format never falls, since items of the newer one
 * remain.
 */
export async function recordFormat(): Promise<void> {
  await updateItem(tableFormatItem(), {
    set: { format: writtenFormat, updated_at: timestamp() },
    when: { format: { isNotFrom: writtenFormat } },
  });
}
