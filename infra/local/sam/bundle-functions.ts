import { execFile } from 'node:child_process';
import { copyFileSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { aliases, bundlesFolder, define, mainFields, target } from '../../stack/bundles.ts';
import { isInstalled, projectFolder } from '../../version.ts';
import { keptFor } from '../local-files.ts';

/** All that the bundles are made of. */
const sources = ['{functions,lib}/**/*.ts', 'infra/stack/*.{ts,cjs}', 'package-lock.json'];

/**
 * Puts functions into one folder, bundled as for a deployment: `issue-token.mjs`. They share the
 * files of what several import.
 */
export async function bundleFunctions(keys: string[], folder: string): Promise<void> {
  if (isInstalled) return copyBundles(keys, folder);
  const bundles = await keptFor('bundles', sources, (made) => bundle(keys, made));
  cpSync(bundles, folder, { recursive: true });
}

async function bundle(keys: string[], folder: string): Promise<void> {
  const flags = [
    '--bundle',
    '--splitting',
    '--minify',
    '--format=esm',
    '--platform=node',
    `--target=${target}`,
    `--main-fields=${mainFields.join(',')}`,
    ...Object.entries(define).map(([name, value]) => `--define:${name}=${value}`),
    ...Object.entries(aliases).map(([flag, file]) => `${flag}=${file}`),
    '--out-extension:.js=.mjs',
    `--outdir=${folder}`,
    '--log-level=warning',
  ];
  const files = keys.map((key) => join(projectFolder, 'functions', `${key}.ts`));
  await promisify(execFile)(join(projectFolder, 'node_modules/.bin/esbuild'), [...files, ...flags]);
}

/** The installed package has the bundles of a deployment. */
function copyBundles(keys: string[], folder: string): void {
  for (const key of keys)
    copyFileSync(join(projectFolder, bundlesFolder, key, 'index.mjs'), join(folder, `${key}.mjs`));
}
