import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const page = readFileSync(join(import.meta.dirname, '../../docs/verifying-tokens.md'), 'utf8');

/** The first block of a language under a heading of `docs/verifying-tokens.md`. @throws Error when there is none */
export function recipe(heading: string, language: string): string {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`));
  const [, code] = section?.match(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'ms')) ?? [];
  if (!code) throw new Error(`There is no ${language} under ${heading}.`);
  return code;
}
