import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const projectDirectory = join(import.meta.dirname, '..', '..');

/** A folder below the git-ignored `.local/`, made when it is not there. */
export function localDirectory(...names: string[]): string {
  const directory = join(projectDirectory, '.local', ...names);
  mkdirSync(directory, { recursive: true });
  return directory;
}

/**
 * A folder with something that takes long to install. It is installed once; a name with its version in it
 * makes a new version a new folder. What was left of an installation that failed is thrown away.
 */
export async function installed(
  name: string,
  install: (directory: string) => Promise<void>,
): Promise<string> {
  const directory = join(localDirectory('installed'), name);
  const whole = join(directory, '.installed');
  if (existsSync(whole)) return directory;
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  await install(directory);
  writeFileSync(whole, '');
  return directory;
}
