import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { itemKind, readItem, updateItem } from './items.ts';
import type * as keys from './keys.ts';
import { tableFormatKey } from './keys.ts';

/** The builder of the keys of each kind of item. */
type KeyOfItem = Extract<keyof typeof keys, `${string}Key`>;

/**
 * The formats of each kind of item that its schema reads. A new kind of item joins the format that is written; a kind
 * that changes so that older code cannot read it takes a new one.
 */
const formatsRead: Record<KeyOfItem, readonly number[]> = {
  loginAppKey: [1],
  clientKey: [1],
  providerSettingsKey: [1],
  mobileApplicationKey: [1],
  loginAppTokenKey: [1],
  loginUserKey: [1],
  deletionKey: [1],
  linkKey: [1],
  sessionKey: [1],
  deviceKey: [1],
  installationKey: [1],
  accountKey: [1],
  newAccessRequestKey: [1],
  importedAccessRequestKey: [1],
  accessRequestCounterKey: [1],
  accessRequestKey: [1],
  accessKey: [1],
  eventKey: [1],
  publicSigningKeysKey: [1],
  issuerKeysKey: [1],
  tableFormatKey: [1],
};

/** The format in which this version writes. */
export const writtenFormat = 1;

/** The formats of a table that this version can serve: those that every schema reads. */
export const readableFormats: readonly number[] = formatsRead.tableFormatKey.filter((format) =>
  Object.values(formatsRead).every((formats) => formats.includes(format)),
);

/** The newest format that anything in the table may have. Every version must be able to read it. */
const tableFormatItem = itemKind(
  v.object({ format: v.pipe(v.number(), v.integer(), v.minValue(1)), updated_at: v.string() }),
  tableFormatKey,
);

interface Reading {
  /** The table, as the error names it. */
  which?: string | undefined;
  /** The formats that the version reads. @default those of this code */
  formats?: readonly number[];
}

/**
 * Makes sure that a version can read what is in the table.
 * @throws UnreadableFormat naming both formats
 */
export async function requireReadableFormat({
  which = 'The table',
  formats = readableFormats,
}: Reading = {}): Promise<void> {
  const item = await readItem(tableFormatItem());
  // Tables were in use before they had the item.
  const format = item?.format ?? 1;
  if (!formats.includes(format))
    throw new UnreadableFormat(
      `${which} has format ${format}, and this version reads format ${formats.join(', ')}. Use the version that wrote it, or a newer one.`,
    );
}

/** A table in a format that this version cannot read. */
export class UnreadableFormat extends Error {}

/** Notes that this version writes to the table from now on. The format never falls: items of the newer one remain. */
export async function recordFormat(): Promise<void> {
  await updateItem(tableFormatItem(), {
    set: { format: writtenFormat, updated_at: timestamp() },
    when: { format: { isNotFrom: writtenFormat } },
  });
}
