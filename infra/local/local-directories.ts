import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A folder below the git-ignored `.local/`, made when it is not there. */
export function localDirectory(...names: string[]): string {
  const directory = join(import.meta.dirname, '..', '..', '.local', ...names);
  mkdirSync(directory, { recursive: true });
  return directory;
}

/**
 * A folder with something that takes long to install. It is installed once for each content of `versionFile`, which
 * says what is installed. What was left of an installation that failed is thrown away.
 */
export async function installed(
  name: string,
  versionFile: string,
  install: (directory: string) => Promise<unknown>,
): Promise<string> {
  const version = createHash('sha256').update(readFileSync(versionFile)).digest('hex').slice(0, 8);
  const directory = join(localDirectory('installed'), `${name}-${version}`);
  const whole = join(directory, '.installed');
  if (existsSync(whole)) return directory;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  await install(directory);
  writeFileSync(whole, '');
  return directory;
}
