import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runLogged } from '../support/commands.ts';
import { installed } from '../support/local-directories.ts';

const version = '4.0.2';

/**
 * Installs Lambda's own runtime interface client for Node, if it is not there yet; the file to run. It is built from
 * C++: needs cmake, make, g++, the autotools and Node's headers.
 */
export async function installRuntimeInterfaceClient(): Promise<string> {
  const directory = await installed(`aws-lambda-ric-${version}`, async (folder) => {
    const project = {
      private: true,
      dependencies: { 'aws-lambda-ric': version },
      allowScripts: { 'aws-lambda-ric': true },
    };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(project));
    await runLogged(['npm', 'install', '--no-audit', '--no-fund', '--foreground-scripts'], {
      directory: folder,
      logFile: join(folder, 'install.log'),
    }).catch((error: Error) => {
      throw new Error(
        `${error.message}\nThe runtime interface client is built from source: it needs cmake, make, g++, autoconf, automake, libtool, m4 and Node's headers.`,
      );
    });
  });
  return join(directory, 'node_modules', 'aws-lambda-ric', 'index.mjs');
}
