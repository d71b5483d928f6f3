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

/**
 * The JSON Schema (2020-12) of a schema's input. Each schema with a title becomes a component, to
 * which the result refers.
 *
 * The converter of valibot knows neither titles nor the wire formats of `jsonSchema`. So they are
 * converted here first, and a placeholder takes them through the converter.
 * @throws Error for a check without `jsonSchema`
 */
export const jsonSchemaOf = (schema: v.GenericSchema, components: Components): JsonSchema =>
  convert(withPlaceholders(schema, components));

/** The property of a placeholder with the JSON Schema that it becomes. */
const finished = Symbol('finished');

/** A schema that the converter turns into a JSON Schema that is finished already. */
const placeholder = (jsonSchema: JsonSchema): object => ({ ...v.any(), [finished]: jsonSchema });

function convert(schema: unknown): JsonSchema {
  const { $schema, title, ...converted } = toJsonSchema(v.parse(anySchema, schema), {
    target: 'draft-2020-12',
    typeMode: 'input',
    overrideSchema: ({ valibotSchema, jsonSchema }) =>
      Reflect.get(valibotSchema, finished) ?? jsonSchema,
  });
  return JSON.parse(JSON.stringify(converted), (_, part) =>
    part instanceof Object ? forGenerators(part) : part,
  );
}

/**
 * A part of a JSON Schema as generators of clients need it: a type beside each constant, no choice
 * within a choice, and no forbidden property.
 */
function forGenerators(part: JsonSchema): object {
  if ('const' in part && part.type === undefined) return { type: typeof part.const, ...part };
  if (part.properties) return withoutForbidden(part);
  if (!part.oneOf) return part;
  const choices = part.oneOf.flatMap((choice) =>
    choice instanceof Object && choice.oneOf ? choice.oneOf : [choice],
  );
  return { ...part, oneOf: choices };
}

/**
 * A forbidden property has no type that a client could use: `propertyNames` rules it out instead.
 */
function withoutForbidden({ properties = {}, ...rest }: JsonSchema): JsonSchema {
  const allowed: JsonSchema['properties'] = {};
  const forbidden: string[] = [];
  for (const [name, schema] of Object.entries(properties)) {
    if (JSON.stringify(schema) === '{"not":{}}') forbidden.push(name);
    else allowed[name] = schema;
  }
  const plain = { ...rest, properties: allowed };
  if (forbidden.length === 0) return plain;
  return { ...plain, propertyNames: { not: { enum: forbidden } } };
}

const anySchema = v.custom<v.GenericSchema>(
  (value) => Reflect.get(Object(value), 'kind') === 'schema',
);

/** Metadata that a schema has itself, without what a schema in its pipe has. */
const ownMetadata = v.pipe(
  v.object({ pipe: v.optional(v.array(v.looseObject({ kind: v.string() })), []) }),
  v.transform(({ pipe }) => {
    const metadata = pipe.filter(({ kind }) => kind === 'metadata');
    return Object.assign({}, ...metadata);
  }),
  v.object({
    title: v.optional(v.string()),
    description: v.optional(v.string()),
    /** Set by `jsonSchema`. */
    metadata: v.optional(
      v.custom<{ wire: JsonSchemaSource; rules: object }>((is) => is instanceof Object),
    ),
  }),
);

/**
 * Copies a schema, with placeholders for its parts that have a title or a wire format.
 * @param value the schema, or anything within it
 * @param isComponent whether the schema is being converted for the component of its title
 */
function withPlaceholders(value: unknown, components: Components, isComponent = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withPlaceholders(item, components));
  const isPlainObject =
    value instanceof Object && Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlainObject) return value;

  const { title, description, metadata } = v.parse(ownMetadata, value);
  if (title !== undefined && !isComponent) {
    components.set(title, convert(withPlaceholders(value, components, true)));
    return placeholder(refTo(title));
  }
  if (metadata !== undefined) {
    const { wire, rules } = metadata;
    const format = v.is(anySchema, wire) ? jsonSchemaOf(wire, components) : wire;
    const described = description === undefined ? {} : { description };
    return placeholder({ ...format, ...rules, ...described });
  }
  return mapValues({ ...value }, (part) => withPlaceholders(part, components));
}

/**
 * The components, with the constants that tell the alternatives of a `oneOf` apart as values of one
 * enum: a generator that merges the alternatives would keep only the last constant.
 * @param decoded whether clients receive them: then a `discriminator` says which alternative a
 *   value is
 */
export function withNamedAlternatives(components: Components, { decoded }: { decoded: boolean }) {
  const named = new Map<string, JsonSchema & { discriminator?: object }>(components);
  for (const [title, { oneOf = [], ...rest }] of components) {
    const isAlternative = (name: string): boolean =>
      oneOf.some((one) => one instanceof Object && one.$ref === refTo(name).$ref);
    const alternatives = [...components].filter(([name]) => isAlternative(name));
    const byProperty = Map.groupBy(constantsOf(alternatives), ({ property }) => property);
    for (const [property, constants] of byProperty) {
      const values = [...new Set(constants.map(({ value }) => value))];
      // One value does not tell alternatives apart.
      if (values.length < 2) continue;

      const enumName = `${title}${pascal(property)}`;
      named.set(enumName, { type: 'string', enum: values });
      for (const { name, value } of constants) {
        const alternative = named.get(name);
        const oneValue = { allOf: [refTo(enumName), { const: value }] };
        const properties = { ...alternative?.properties, [property]: oneValue };
        named.set(name, { ...alternative, properties });
      }

      if (!decoded) continue;
      const refs = constants.map(({ name, value }) => [value, refTo(name).$ref]);
      const discriminator = { propertyName: property, mapping: Object.fromEntries(refs) };
      named.set(title, { oneOf, ...rest, discriminator });
    }
  }
  return named;
}

/** A property that has one text as its only value in the alternative of a name. */
interface Constant {
  name: string;
  property: string;
  value: string;
}

function constantsOf(alternatives: [name: string, schema: JsonSchema][]): Constant[] {
  const constants: Constant[] = [];
  for (const [name, { properties = {} }] of alternatives) {
    for (const [property, schema] of Object.entries(properties)) {
      if (!(schema instanceof Object) || typeof schema.const !== 'string') continue;
      constants.push({ name, property, value: schema.const });
    }
  }
  return constants;
}
