import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { installed } from '../../infra/local/local-directories.ts';

const version = '4.0.2';

/**
 * Installs Lambda's own runtime interface client for Node, if it is not there yet; the file to run. It is built from
 * C++.
 */
export async function installRuntimeInterfaceClient(): Promise<string> {
  const directory = await installed('aws-lambda-ric', import.meta.filename, (folder) => {
    const project = {
      private: true,
      dependencies: { 'aws-lambda-ric': version },
      allowScripts: { 'aws-lambda-ric': true },
    };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(project));
    return execa('npm', ['install', '--no-audit', '--no-fund', '--foreground-scripts'], { cwd: folder });
  });
  return join(directory, 'node_modules', 'aws-lambda-ric', 'index.mjs');
}
