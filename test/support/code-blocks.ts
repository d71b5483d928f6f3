import { readFileSync } from 'node:fs';

/**
 * The code in a language on a page of `docs/`, block by block, or below one of its headings alone.
 */
export function codeBlocks(page: string, language: string, heading?: string): string[] {
  const text = readFileSync(`docs/${page}`, 'utf8');
  const sections = text.split(/^##+ /m);
  const part =
    heading === undefined ? text : sections.find((one) => one.startsWith(`${heading}\n`));
  const blocks = part?.matchAll(new RegExp(`^( *)\`\`\`${language}\n(.*?)^ *\`\`\`$`, 'gms')) ?? [];
  return [...blocks].map(([, , code = '']) => code);
}

/**
 * The first of these blocks.
 * @throws Error when there is none
 */
export function codeBlock(page: string, language: string, heading?: string): string {
  const [code] = codeBlocks(page, language, heading);
  if (!code)
    throw new Error(`${page} has no block of ${language}${heading ? ` below ${heading}` : ''}.`);
  return code;
}
