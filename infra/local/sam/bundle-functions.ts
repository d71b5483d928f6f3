import { execFile } from 'node:child_process';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { aliases, bundlesFolder, define, mainFields, target } from '../../stack/bundles.ts';
import { isInstalled } from '../../version.ts';

const root = join(import.meta.dirname, '../../..');

/**
 * Bundles functions as for a deployment, into one folder: `issue-token.mjs`. They share the files
 * of what several import.
 */
export async function bundleFunctions(keys: string[], folder: string): Promise<void> {
  if (isInstalled) return copyBundles(keys, folder);
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
  const files = keys.map((key) => join(root, 'functions', `${key}.ts`));
  await promisify(execFile)(join(root, 'node_modules/.bin/esbuild'), [...files, ...flags]);
}

/** The installed package has the bundles of a deployment. */
function copyBundles(keys: string[], folder: string): void {
  for (const key of keys)
    copyFileSync(join(root, bundlesFolder, key, 'index.mjs'), join(folder, `${key}.mjs`));
}
