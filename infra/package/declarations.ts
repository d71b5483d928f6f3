import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { projectFolder } from '../version.ts';
import { settingDeclarations } from './setting-declarations.ts';

/** Declarations that are written instead of those of the compiler. */
const written: Record<string, string> = {
  'infra/settings/setting-types.d.ts': settingDeclarations(),
};

/** Packages whose types an app has. */
const known = /^(aws-cdk-lib|constructs)($|\/)/;

/**
 * Writes the declarations of the entry, and of all that they name.
 * @throws Error when they name a package that an app need not have
 */
export function writeDeclarations(folder: string): void {
  const compiled = mkdtempSync(join(tmpdir(), 'login-service-types-'));
  const project = join(import.meta.dirname, 'tsconfig.json');
  const tsc = join(projectFolder, 'node_modules/.bin/tsc');
  execFileSync(tsc, ['--project', project, '--outDir', compiled], { stdio: 'inherit' });
  const waiting = ['infra/package/index.d.ts'];
  for (const file of waiting) {
    const text = written[file] ?? readFileSync(join(compiled, file), 'utf8');
    for (const name of namedIn(text)) {
      const other = join(dirname(file), name).replace(/\.ts$/, '.d.ts');
      if (name.startsWith('.') && !waiting.includes(other)) waiting.push(other);
      if (!name.startsWith('.') && !known.test(name))
        throw new Error(`${file} names ${name}, whose types an app need not have.`);
    }
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  rmSync(compiled, { recursive: true });
}

/** The modules that declarations import: of the package, and others. */
const namedIn = (text: string): string[] =>
  [...text.matchAll(/(?:from |import\()["']([^"']+)["']/g)].map(([, name = '']) => name);
