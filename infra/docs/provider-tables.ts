import { type JsonSchema, toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import { parametersOf } from '../../lib/providers/parameters.ts';
import { authorizationCodeProvider, type ProviderId, providerIds } from '../../lib/providers/provider-ids.ts';
import { protocolOf, protocols } from '../../lib/providers/providers.ts';

/** The tables of the page about providers, by the names of their blocks: the head and the rows of each. */
export function providerTables(): Record<string, [head: string[], rows: string[][]]> {
  const settings = Object.values(protocols).map((protocol) => [
    `${protocol.name}-settings`,
    [['Field', 'Meaning', 'Default'], settingRows(jsonSchemaOf(protocol.settings))],
  ]);
  return {
    providers: [
      ['Provider', 'Protocol', 'The app sends'],
      providerIds.map((id) => [`\`${id}\``, protocolOf(id).title, sentTo(id)]),
    ],
    ...Object.fromEntries(settings),
  };
}

const jsonSchemaOf = (schema: v.GenericSchema): JsonSchema =>
  toJsonSchema(schema, { typeMode: 'input', errorMode: 'ignore' });

function sentTo(id: ProviderId): string {
  const { required, optional } = parametersOf(id);
  const sent = [
    ...required.map((name) => `\`${name}\``),
    ...optional.map((name) => `\`${name}\` (optional)`),
  ];
  return `${sent.join(', ')}${id === authorizationCodeProvider ? '; or `authorization_code`' : ''}`;
}

/** A row for each field; a field of an object within stands after its path, those of a variant once for each method. */
function settingRows({ properties = {}, required = [] }: JsonSchema, path = ''): string[][] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    if (typeof schema === 'boolean') return [];
    const at = `${path}${name}`;
    if (isObjectList(schema.items)) return settingRows(schema.items, `${at}[].`);
    const objects = schema.anyOf ?? schema.oneOf ?? (schema.properties ? [schema] : undefined);
    if (objects)
      return objects.flatMap((one) => (typeof one === 'boolean' ? [] : settingRows(one, `${at}.`)));
    const standard = schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``;
    return [[`\`${at}\``, schema.description ?? '', required.includes(name) ? 'required' : standard]];
  });
}

/** Whether these are the members of a list of objects, each with settings of its own. */
const isObjectList = (items: JsonSchema['items']): items is JsonSchema =>
  typeof items === 'object' && !Array.isArray(items) && items.properties !== undefined;
