import { type JsonSchema, toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import type { JsonSchemaSource } from '../../../lib/schema/json-schema.ts';

/** The schemas that have a title: each stands once in the document, and is referred to. */
export type Components = Map<string, JsonSchema>;

/** The key under which a schema carries the JSON Schema that stands for it. */
const converted = Symbol('converted');

/**
 * The JSON Schema (2020-12) of what a schema reads, as it is on the wire. Schemas with a title become components.
 * @throws Error for a schema without a counterpart, such as a check: `wire` must give it one
 */
export const jsonSchemaOf = (schema: v.GenericSchema, components: Components): JsonSchema =>
  convert(substituted(schema, components));

function convert(schema: unknown): JsonSchema {
  const {
    $schema: _,
    title: __,
    ...plain
  } = toJsonSchema(v.parse(anySchema, schema), {
    target: 'draft-2020-12',
    typeMode: 'input',
    // What the service does with a value after it was sent.
    ignoreActions: ['to_lower_case'],
    overrideSchema: ({ valibotSchema, jsonSchema }) => Reflect.get(valibotSchema, converted) ?? jsonSchema,
  });
  return plainer(plain);
}

/**
 * Rewrites a JSON Schema in the form that generators of clients read best: a type beside each constant, no choice within a choice, and
 * no property that must not be there.
 */
function plainer(schema: JsonSchema): JsonSchema {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return value;
    const parts: JsonSchema = Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, walk(part)]),
    );
    if ('const' in parts && parts.type === undefined) return { type: typeof parts.const, ...parts };
    if (parts.properties) return withoutForbidden(parts);
    if (!Array.isArray(parts.oneOf)) return parts;
    return { ...parts, oneOf: parts.oneOf.flatMap((one) => (one instanceof Object && one.oneOf) || [one]) };
  };
  return Object(walk(schema));
}

/** A property that must not be there has no type that a client could have; the object as a whole rules it out. */
function withoutForbidden({ properties = {}, ...rest }: JsonSchema): JsonSchema {
  const isForbidden = (schema: unknown) => JSON.stringify(schema) === '{"not":{}}';
  const forbidden = Object.keys(properties).filter((name) => isForbidden(properties[name]));
  return {
    ...rest,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !forbidden.includes(name))),
    ...(forbidden.length > 0 && { propertyNames: { not: { enum: forbidden } } }),
  };
}

const isSchema = (value: unknown): value is v.GenericSchema =>
  value instanceof Object && 'kind' in value && value.kind === 'schema';
const anySchema = v.custom<v.GenericSchema>(isSchema);

/** Metadata that `v.title`, `v.description` and `wire` have given a schema; the last one counts. */
function annotationsOf(schema: object) {
  const items: object[] = 'pipe' in schema && Array.isArray(schema.pipe) ? schema.pipe : [];
  const last = <Output>(part: v.GenericSchema<unknown, Output>): Output | undefined =>
    items.map((item) => v.safeParse(part, item)).findLast(({ success }) => success)?.output as
      | Output
      | undefined;
  return {
    title: last(v.object({ type: v.literal('title'), title: v.string() }))?.title,
    description: last(v.object({ type: v.literal('description'), description: v.string() }))?.description,
    ...last(
      v.object({
        metadata: v.object({
          wire: v.custom<JsonSchemaSource>((value) => value instanceof Object),
          rules: v.looseObject({}),
        }),
      }),
    )?.metadata,
  };
}

/**
 * Rewrites a schema with those inside it that have a title or a wire format replaced by ones that carry their JSON Schema:
 * the converter itself passes over what it finds in a pipe.
 */
function substituted(value: unknown, components: Components, isComponent = false): unknown {
  if (Array.isArray(value)) return value.map((item) => substituted(item, components));
  if (typeof value !== 'object' || value === null) return value;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  const { title, description, wire, rules } = annotationsOf(value);
  if (title !== undefined && !isComponent) {
    components.set(title, convert(substituted(value, components, true)));
    return carrying({ $ref: `#/components/schemas/${title}` });
  }
  if (wire !== undefined) {
    const format = isSchema(wire) ? jsonSchemaOf(wire, components) : wire;
    return carrying({ ...format, ...rules, ...(description !== undefined && { description }) });
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      name === '~standard' ? part : substituted(part, components),
    ]),
  );
}

const carrying = (jsonSchema: JsonSchema): object => ({ ...v.any(), [converted]: jsonSchema });

const refTo = (name: string) => `#/components/schemas/${name}`;
export const pascal = (name: string) =>
  name.replace(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());

type Alternatives = JsonSchema & {
  discriminator?: { propertyName: string; mapping: Record<string, string> };
};

/**
 * The components, with each `oneOf` in the form that generators of clients read best. The constants that tell its
 * alternatives apart are values of one enum: a generator that merges the alternatives would keep the last constant alone.
 * @param decoded whether clients receive them: then a `discriminator` says which alternative a value is
 */
export function withNamedAlternatives(
  components: Components,
  { decoded }: { decoded: boolean },
): Map<string, Alternatives> {
  const named = new Map<string, Alternatives>(components);
  for (const [title, { oneOf = [], ...rest }] of components) {
    const alternatives = [...components].filter(([name]) =>
      oneOf.some((one) => one instanceof Object && one.$ref === refTo(name)),
    );
    for (const [property, constants] of constantsOf(alternatives)) {
      if (new Set(constants.values()).size < 2) continue;
      const enumName = `${title}${pascal(property)}`;
      named.set(enumName, { type: 'string', enum: [...new Set(constants.values())] });
      for (const [name, value] of constants) {
        const alternative = named.get(name);
        const narrowed = { allOf: [{ $ref: refTo(enumName) }, { const: value }] };
        named.set(name, { ...alternative, properties: { ...alternative?.properties, [property]: narrowed } });
      }
      if (!decoded) continue;
      const mapping = Object.fromEntries([...constants].map(([name, value]) => [value, refTo(name)]));
      named.set(title, { oneOf, ...rest, discriminator: { propertyName: property, mapping } });
    }
  }
  return named;
}

/** Constants by property: the text that is its only value in each alternative that has it, by the alternative's name. */
function constantsOf(alternatives: [name: string, JsonSchema][]): Map<string, Map<string, string>> {
  const found = new Map<string, Map<string, string>>();
  for (const [name, { properties = {} }] of alternatives) {
    for (const [property, schema] of Object.entries(properties)) {
      if (!(schema instanceof Object) || typeof schema.const !== 'string') continue;
      found.set(property, (found.get(property) ?? new Map<string, string>()).set(name, schema.const));
    }
  }
  return found;
}
