import * as v from 'valibot';

type JsonKeywords = { readonly [keyword: string]: unknown };

/** A JSON Schema, or a schema that has one. */
export type JsonSchemaSource = v.GenericSchema | JsonKeywords;

/**
 * Tells the API document how a value looks on the wire, in place of its schema. Validation ignores
 * it.
 * @param rules keywords that hold besides, such as a rule across fields
 * @__NO_SIDE_EFFECTS__ so a bundle leaves out schemas that it doesn't use
 */
export const jsonSchema = <Input>(format: JsonSchemaSource, rules: JsonKeywords = {}) =>
  v.metadata<Input, { wire: JsonSchemaSource; rules: JsonKeywords }>({ wire: format, rules });

/** A time as the service writes it: ISO 8601, UTC, with milliseconds. */
export const timestampField = v.pipe(
  v.string(),
  jsonSchema({ type: 'string', format: 'date-time' }),
);

export const countField = v.pipe(v.number(), jsonSchema({ type: 'integer', minimum: 0 }));

/** A schema with its description for the docs. @__NO_SIDE_EFFECTS__ */
export const described = <const Schema extends v.GenericSchema>(schema: Schema, text: string) =>
  v.pipe(schema, v.description(text));

/** A text with its description. @__NO_SIDE_EFFECTS__ */
export const textField = (text: string) => described(v.string(), text);

const dateTime =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Converts a time to UTC and milliseconds; undefined for anything but a `date-time` of a real
 * calendar date with a year of four digits in UTC. Leap seconds are not accepted: neither `Date`
 * nor epoch seconds can hold them.
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

/** An optional RFC 3339 time, converted to UTC. */
export const timeField = (name: string) =>
  v.optional(
    v.pipe(
      v.string(`${name} must be a string.`),
      v.transform(utcTimestamp),
      v.string(
        `${name} must be an RFC 3339 time of a real calendar date, such as 2024-05-02T08:00:00Z.`,
      ),
      jsonSchema({ type: 'string', format: 'date-time' }),
    ),
  );
