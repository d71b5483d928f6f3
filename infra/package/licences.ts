import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BundledPackage } from './bundled-packages.ts';

const introduction =
  'Parts of the following packages are in this one. Their licences ask for these notices.\n';

/**
 * The notices of packages, which must accompany copies of their code; the same text once for all
 * that have it.
 */
export function noticesOf(packages: BundledPackage[]): string {
  const byText = Map.groupBy(packages, ({ folder }) => noticesIn(folder));
  const sections = [...byText].map(([notices, those]) => {
    const titles = those.map((one) => `${one.name} ${one.version} (${one.license})`);
    return `${'='.repeat(80)}\n${[...new Set(titles)].toSorted().join('\n')}\n\n${notices}`;
  });
  return [introduction, ...sections].join('\n');
}

/** The texts of a package's licence and notices. Some packages only name their licence. */
function noticesIn(folder: string): string {
  const texts = readdirSync(folder)
    .filter((name) => /^(licen[cs]e|notice|copying)/i.test(name))
    .toSorted()
    .map((name) => readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n').trim());
  if (texts.length === 0) return 'The package names its licence, and has no text of it.\n';
  return `${texts.join('\n\n')}\n`;
}
