import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { itemKind, readItem, updateItem } from './items.ts';
import { tableFormatKey } from './keys.ts';

/** The format in which this version writes. A kind of item that changes so that older code cannot read it takes a new one. */
export const writtenFormat = 1;

/** The formats of a table that this version can serve: those that the schema of every kind of item reads. */
export const readableFormats: readonly number[] = [1];

/** The newest format that anything in the table may have. Every version must be able to read it. */
const tableFormatItem = itemKind(
  v.object({ format: v.pipe(v.number(), v.integer(), v.minValue(1)), updated_at: v.string() }),
  tableFormatKey,
);

/** The reason why a version can't read the table, with both formats; undefined if it can. */
export async function formatProblem(formats = readableFormats): Promise<string | undefined> {
  const item = await readItem(tableFormatItem());
  // A new table gets the item at the end of its first deployment.
  const format = item?.format ?? 1;
  if (formats.includes(format)) return undefined;
  return `The table has format ${format}, and this version reads format ${formats.join(', ')}. Use the version that wrote it, or a newer one.`;
}

/** Notes that this version writes to the table from now on. The format never falls: items of the newer one remain. */
export async function recordFormat(): Promise<void> {
  await updateItem(tableFormatItem(), {
    set: { format: writtenFormat, updated_at: timestamp() },
    when: { format: { isNotFrom: writtenFormat } },
  });
}
