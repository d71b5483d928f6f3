import type { JsonSchema } from '@valibot/to-json-schema';
import type { Components } from './json-schema.ts';

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
