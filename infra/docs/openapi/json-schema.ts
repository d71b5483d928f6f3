import { type JsonSchema, toJsonSchema } from '@valibot/to-json-schema';
import * as v from 'valibot';
import type { JsonSchemaSource } from '../../../lib/schema/json-schema.ts';
import { pascal } from '../../endpoints.ts';

/** The JSON Schemas of the schemas with a title, which the rest of the document refers to. */
export type Components = Map<string, JsonSchema>;

export const refTo = (name: string) => ({ $ref: `#/components/schemas/${name}` });

export const mapValues = <Value, Mapped>(
  record: Record<string, Value> | Record<number, Value>,
  map: (value: Value) => Mapped,
) => Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));

/** The key under which a schema carries the JSON Schema that stands for it. */
const converted = Symbol('converted');

/**
 * The JSON Schema (2020-12) of a schema's input; with a title, a component.
 * @throws Error for a check without `jsonSchema`
 */
export const jsonSchemaOf = (schema: v.GenericSchema, components: Components): JsonSchema =>
  convert(substituted(schema, components));

function convert(schema: unknown): JsonSchema {
  const { $schema, title, ...plain } = toJsonSchema(v.parse(anySchema, schema), {
    target: 'draft-2020-12',
    typeMode: 'input',
    overrideSchema: ({ valibotSchema, jsonSchema }) =>
      Reflect.get(valibotSchema, converted) ?? jsonSchema,
  });
  // For generators of clients: a type beside each constant, no choice within a choice, no forbidden
  // property.
  return JSON.parse(JSON.stringify(plain), (_, part) => {
    if (!(part instanceof Object)) return part;
    if ('const' in part && part.type === undefined) return { type: typeof part.const, ...part };
    if (part.properties) return withoutForbidden(part);
    if (!part.oneOf) return part;
    return { ...part, oneOf: part.oneOf.flatMap((one: JsonSchema) => one.oneOf ?? one) };
  });
}

/**
 * A forbidden property has no type that a client could use: `propertyNames` rules it out instead.
 */
function withoutForbidden({ properties = {}, ...rest }: JsonSchema): JsonSchema {
  const { allowed = [], forbidden = [] } = Object.groupBy(
    Object.entries(properties),
    ([, schema]) => (JSON.stringify(schema) === '{"not":{}}' ? 'forbidden' : 'allowed'),
  );
  const plain = { ...rest, properties: Object.fromEntries(allowed) };
  if (forbidden.length === 0) return plain;
  return { ...plain, propertyNames: { not: { enum: forbidden.map(([name]) => name) } } };
}

const anySchema = v.custom<v.GenericSchema>(
  (value) => Reflect.get(Object(value), 'kind') === 'schema',
);

/** The metadata that a schema has itself, without what a schema in its pipe has. */
const ownMetadata = v.pipe(
  v.object({ pipe: v.optional(v.array(v.looseObject({ kind: v.string() })), []) }),
  v.transform(({ pipe }) => Object.assign({}, ...pipe.filter(({ kind }) => kind === 'metadata'))),
  v.object({
    title: v.optional(v.string()),
    description: v.optional(v.string()),
    metadata: v.optional(
      v.custom<{ wire: JsonSchemaSource; rules: object }>((is) => is instanceof Object),
    ),
  }),
);

/**
 * Replaces schemas with a title or a wire format by ones that carry their JSON Schema: the
 * converter ignores them in pipes.
 */
function substituted(value: unknown, components: Components, isComponent = false): unknown {
  if (Array.isArray(value)) return value.map((item) => substituted(item, components));
  if (!(value instanceof Object) || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const { title, description, metadata } = v.parse(ownMetadata, value);
  if (title !== undefined && !isComponent) {
    components.set(title, convert(substituted(value, components, true)));
    return carrying(refTo(title));
  }
  if (metadata !== undefined) {
    const { wire, rules } = metadata;
    const format = v.is(anySchema, wire) ? jsonSchemaOf(wire, components) : wire;
    return carrying({ ...format, ...rules, ...(description !== undefined && { description }) });
  }
  return mapValues({ ...value }, (part) => substituted(part, components));
}

const carrying = (jsonSchema: JsonSchema): object => ({ ...v.any(), [converted]: jsonSchema });

/**
 * The components, with the constants that tell the alternatives of a `oneOf` apart as values of one
 * enum: a generator that merges the alternatives would keep only the last constant.
 * @param decoded whether clients receive them: then a `discriminator` says which alternative a
 *   value is
 */
export function withNamedAlternatives(components: Components, { decoded }: { decoded: boolean }) {
  const named = new Map<string, JsonSchema & { discriminator?: object }>(components);
  for (const [title, { oneOf = [], ...rest }] of components) {
    const alternatives = [...components].filter(([name]) =>
      oneOf.some((one) => one instanceof Object && one.$ref === refTo(name).$ref),
    );
    for (const [property, constants] of Map.groupBy(
      constantsOf(alternatives),
      (one) => one.property,
    )) {
      const values = [...new Set(constants.map(({ value }) => value))];
      if (values.length < 2) continue;
      const enumName = `${title}${pascal(property)}`;
      named.set(enumName, { type: 'string', enum: values });
      for (const { name, value } of constants) {
        const alternative = named.get(name);
        const narrowed = { allOf: [refTo(enumName), { const: value }] };
        named.set(name, {
          ...alternative,
          properties: { ...alternative?.properties, [property]: narrowed },
        });
      }
      if (!decoded) continue;
      const mapping = Object.fromEntries(
        constants.map(({ name, value }) => [value, refTo(name).$ref]),
      );
      named.set(title, { oneOf, ...rest, discriminator: { propertyName: property, mapping } });
    }
  }
  return named;
}

/** The texts that are the only value of a property in the alternative of a name. */
const constantsOf = (alternatives: [name: string, JsonSchema][]) =>
  alternatives.flatMap(([name, { properties = {} }]) =>
    Object.entries(properties).flatMap(([property, schema]) =>
      schema instanceof Object && typeof schema.const === 'string'
        ? [{ name, property, value: schema.const }]
        : [],
    ),
  );
