import * as v from 'valibot';
import { jsonSchema } from './json-schema.ts';

const dateTime =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Converts a time to UTC and to the millisecond, `2026-01-31T08:00:00.000Z`, or undefined for anything but an RFC 3339
 * `date-time` of a real calendar date whose year in UTC is 0000 to 9999. The second 60 is not accepted: neither `Date`
 * nor the epoch seconds of other systems can hold a leap second.
 * @see RFC 3339 section 5.6
 */
function utcTimestamp(text: string): string | undefined {
  const time = text.toUpperCase();
  const date = time.match(dateTime)?.[1];
  // `Date` takes 31 February for 2 March.
  if (!date || !new Date(date).toISOString().startsWith(date)) return undefined;
  const utc = new Date(time).toISOString();
  return /^\d{4}-/.test(utc) ? utc : undefined;
}

/** An optional field that holds such a time. */
export const timeField = (name: string) =>
  v.optional(
    v.pipe(
      v.string(`${name} must be a string.`),
      v.transform(utcTimestamp),
      v.string(`${name} must be an RFC 3339 time of a real calendar date, such as 2024-05-02T08:00:00Z.`),
      jsonSchema({ type: 'string', format: 'date-time' }),
    ),
  );
