import { join } from 'node:path';
import { execa } from 'execa';
import { type BackgroundServer, shown, startServer } from '../support/commands.ts';
import { installed, localDirectory } from '../support/local-directories.ts';
import { requireTools } from '../support/needed-tools.ts';

const pom = join(import.meta.dirname, 'pom.xml');
const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const portLine = /^Listening on port (\d+)$/m;

/** Amazon's DynamoDB Local, in a process of its own. */
export interface DynamoDbLocal extends AsyncDisposable {
  url: string;
}

/** Stops a check that lacks what DynamoDB Local needs. @throws Error naming what installs it */
export const requireDynamoDbTools = (): Promise<void> =>
  requireTools([
    ['java -version', 'default-jdk-headless'],
    ['mvn --version', 'maven'],
  ]);

/** Fetches the version that the pom names; the folder of its jars. Needs Maven. */
export const installDynamoDbLocal = (): Promise<string> =>
  installed('dynamodb-local', pom, (directory) => {
    const options = ['-DincludeScope=runtime', `-DoutputDirectory=${directory}`];
    return execa('mvn', ['--quiet', '--batch-mode', '--file', pom, copyDependencies, ...options], shown);
  });

/**
 * Starts it in memory, on a free port of the loopback interface. Needs Java 17 or newer.
 * @param name of the folder for its output
 */
export async function startDynamoDbLocal(jars: string, name: string): Promise<DynamoDbLocal> {
  const main = join(import.meta.dirname, 'StartDynamoDbLocal.java');
  const options = ['-Xmx512m', `-Djava.library.path=${jars}`, '-classpath', join(jars, '*')];
  const server: BackgroundServer = await startServer(['java', ...options, main], {
    logFile: join(localDirectory(name), 'output.log'),
    isReady: (output) => portLine.test(output),
  });
  const url = `http://127.0.0.1:${server.output().match(portLine)?.[1]}`;
  return { url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
