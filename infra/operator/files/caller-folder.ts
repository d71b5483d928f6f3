import { resolve } from 'node:path';

/** The scripts of package.json that take names of files. */
const scripts = ['start', 'operator', 'docs'];

/**
 * The folder in which somebody typed the command: npm runs a script in the folder of its
 * package.json, not there.
 */
function callerFolder(): string {
  const { npm_lifecycle_event: script = '', npm_package_name, INIT_CWD } = process.env;
  const isOurs = npm_package_name === 'login-service';
  return isOurs && scripts.includes(script) && INIT_CWD ? INIT_CWD : process.cwd();
}

/** The absolute path of a file that somebody named at the command line or in a variable. */
export const fromCaller = (path: string): string => resolve(callerFolder(), path);
