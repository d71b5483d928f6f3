import { globSync } from 'node:fs';
import { basename } from 'node:path';

/** The generated file with the index of the functions. */
export const functionIndexFile = 'infra/function-index.ts';

/**
 * The index of the functions: the modules in `functions/`, by their names. Its imports are static,
 * so that bundlers and every loader of TypeScript follow them. Loads no function itself, so it can
 * be written when a function was added or removed.
 */
export function functionIndex(): string {
  const keys = globSync('functions/*.ts')
    .map((file) => basename(file, '.ts'))
    .toSorted();
  const imports = keys.map((key) => `import * as ${camel(key)} from '../functions/${key}.ts';`);
  // The formatter writes a name without quotation marks where it can.
  const entries = keys.map((key) => (/-/.test(key) ? `  '${key}': ${camel(key)},` : `  ${key},`));
  return `\
// Written by npm run generate.
${imports.join('\n')}

/** The module of each function, by the name of its file. */
export const functions = {
${entries.join('\n')}
};
`;
}

const camel = (key: string): string =>
  key.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
