import * as v from 'valibot';

type JsonKeywords = { readonly [keyword: string]: unknown };

/** A JSON Schema, or a schema that has one. */
export type JsonSchemaSource = v.GenericSchema | JsonKeywords;

/**
 * Says how a value looks on the wire where its schema alone does not: where text is read as a number, or a check
 * has no counterpart in JSON Schema. The API document takes it in the place of the schema; validation ignores it.
 * @param rules keywords that hold besides, such as a rule across fields, which a schema cannot say
 * @__NO_SIDE_EFFECTS__ so a bundle leaves out schemas that it doesn't use
 */
export const jsonSchema = <Input>(format: JsonSchemaSource, rules: JsonKeywords = {}) =>
  v.metadata<Input, { wire: JsonSchemaSource; rules: JsonKeywords }>({ wire: format, rules });

/** A time as the service writes it: ISO 8601, UTC, with milliseconds. */
export const timestampField = v.pipe(v.string(), jsonSchema({ type: 'string', format: 'date-time' }));

/** A whole number that is not negative. */
export const countField = v.pipe(v.number(), jsonSchema({ type: 'integer', minimum: 0 }));

/**
 * A schema with its description for the API document and the docs.
 * @__NO_SIDE_EFFECTS__
 */
export const described = <const Schema extends v.GenericSchema>(schema: Schema, text: string) =>
  v.pipe(schema, v.description(text));
