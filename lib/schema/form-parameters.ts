import * as v from 'valibot';
import { jsonSchema } from './json-schema.ts';
import { keyRequired } from './validation.ts';

/** The schema of a form. Unknown parameters are ignored (RFC 6749 section 3.2). */
export const parameters = <const Entries extends v.ObjectEntries>(entries: Entries) =>
  v.object(entries, keyRequired('The parameter '));

/** A parameter that must be sent once. `form` has left out those without a value. */
export const required = (name: string) =>
  v.pipe(v.string(`The parameter ${name} is repeated.`), v.nonEmpty());

/** A parameter that may be sent once. */
export const optional = (name: string) => v.optional(required(name));

/** A parameter that makes no sense in this request, and must not be sent. */
export const forbidden = (name: string, why: string) =>
  v.optional(v.never(`The parameter ${name} must not be supplied ${why}.`));

/** The names of the parameters of a form, by whether they must, may or must not be sent. */
export function sorted(entries: v.ObjectEntries) {
  const forbiddenSchema = v.object({ wrapped: v.object({ type: v.literal('never') }) });
  const kinds = Object.groupBy(Object.keys(entries), (name) => {
    if (entries[name]?.type !== 'optional') return 'required';
    return v.is(forbiddenSchema, entries[name]) ? 'forbidden' : 'optional';
  });
  const { required = [], optional = [], forbidden = [] } = kinds;
  return { required, optional, forbidden };
}

/** The message for a parameter that has none of the values it may have. */
export function mustBeOneOf(name: string, values: readonly string[]): string {
  const [first, ...others] = values;
  const allowed = others.length === 0 ? first : `one of ${values.join(', ')}`;
  return `The ${name} must be ${allowed}.`;
}

/**
 * The messages for the discriminators of a variant.
 * @param choices the values of each, by its name
 */
export const choiceProblem =
  (choices: Record<string, readonly string[]>) =>
  ({ path, input }: v.BaseIssue<unknown>): string => {
    const name = String(path?.[0]?.key);
    if (input === undefined) return `The parameter ${name} is required.`;
    if (Array.isArray(input)) return `The parameter ${name} is repeated.`;
    return mustBeOneOf(name, choices[name] ?? []);
  };

/** A query parameter that comes once. */
export const once = <Output>(name: string, schema: v.GenericSchema<string, Output>) =>
  v.pipe(
    v.array(v.string()),
    v.maxLength(1, `The parameter ${name} is repeated.`),
    v.transform(([value = '']) => value),
    schema,
  );

/**
 * An optional query parameter.
 * @param schema of its text
 * @param keywords its JSON Schema
 */
export const queryParameter = <Output>(
  name: string,
  schema: v.GenericSchema<string, Output>,
  keywords: { type: string; [keyword: string]: unknown },
  description: string,
) => v.pipe(v.optional(once(name, schema)), jsonSchema(keywords), v.description(description));

export const queryText = (name: string, description: string) => {
  const schema = v.pipe(v.string(), v.nonEmpty(`The parameter ${name} is empty.`));
  return queryParameter(name, schema, { type: 'string', minLength: 1 }, description);
};

export const queryChoice = <const Options extends readonly string[]>(
  name: string,
  options: Options,
  description: string,
) => {
  const schema = v.picklist(options, `The parameter ${name} must be ${options.join(' or ')}.`);
  return queryParameter(name, schema, { type: 'string', enum: options }, description);
};

/**
 * A query parameter of at most four digits.
 * @param keywords of its JSON Schema besides
 */
export const queryInteger = (
  name: string,
  [minimum, maximum]: [least: number, most: number],
  description: string,
  keywords: { default?: number } = {},
) => {
  const schema = v.message(
    v.pipe(
      v.string(),
      v.regex(/^\d{1,4}$/),
      v.transform(Number),
      v.minValue(minimum),
      v.maxValue(maximum),
    ),
    `The parameter ${name} must be an integer from ${minimum} to ${maximum}.`,
  );
  return queryParameter(
    name,
    schema,
    { type: 'integer', minimum, maximum, ...keywords },
    description,
  );
};
