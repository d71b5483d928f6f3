import { settingsSchema } from '../settings/setting-records.ts';
import { settingsOfStack } from '../settings/setting-types.ts';
import type { SettingText } from '../settings/values.ts';

/** The parts of a schema that say which type its values have. */
interface AnySchema {
  type: string;
  kind?: string;
  pipe?: readonly AnySchema[];
  wrapped?: AnySchema;
  item?: AnySchema;
  key?: AnySchema;
  value?: AnySchema;
  options?: readonly unknown[];
}

/** The type of a schema's values, in TypeScript. */
function typeOf(schema: AnySchema): string {
  const { type, pipe = [], wrapped, item, key, value, options } = schema;
  if (wrapped) return typeOf(wrapped);
  // The first member of a pipe is the schema itself.
  const last = pipe.slice(1).findLast(({ kind }) => kind === 'schema');
  if (last) return typeOf(last);
  if (options) return options.map((one) => JSON.stringify(one)).join(' | ');
  if (item) return `(${typeOf(item)})[]`;
  if (key && value) return `Record<${typeOf(key)}, ${typeOf(value)}>`;
  if (['string', 'number', 'boolean'].includes(type)) return type;
  throw new Error(`The declarations of settings know no schema of the type ${type}.`);
}

/** A property with the docstring that an editor shows. */
function property([name, setting]: [string, SettingText & AnySchema]): string {
  const { meaning, allowed, defaultText } = setting;
  // A link is relative to the page with the table of settings.
  const text = meaning.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  const byDefault = defaultText ? `   * @default ${defaultText}\n` : '';
  return `  /**\n   * ${text}. Allowed: ${allowed}.\n${byDefault}   */\n  ${name}?: ${typeOf(setting)} | undefined;\n`;
}

/**
 * The declaration of the props of `setting-types.ts` with the texts of the settings, and without
 * the schemas, whose package an app does not have.
 */
export function settingDeclarations(): string {
  const settings = Object.entries<SettingText & AnySchema>(settingsSchema.entries);
  const ofService = settings.filter(([name]) => !settingsOfStack.some((one) => one === name));
  return `\
/** The settings of a service; all are optional. */
export interface ServiceSettings {
${ofService.map(property).join('')}}
`;
}
