import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BackgroundServer, run, startServer } from '../support/commands.ts';
import { installed, localDirectory } from '../support/local-directories.ts';

const pom = join(import.meta.dirname, 'pom.xml');

/** Amazon's DynamoDB Local, running. */
export interface DynamoDbLocal extends BackgroundServer {
  url: string;
}

/** Fetches the version that the pom names, if it is not there yet; the folder of its jars. Needs Maven. */
export function installDynamoDbLocal(): Promise<string> {
  const version = createHash('sha256').update(readFileSync(pom)).digest('hex').slice(0, 8);
  return installed(`dynamodb-local-${version}`, (directory) =>
    run(
      // biome-ignore format: one option a line says nothing more
      ['mvn', '--quiet', '--batch-mode', '--file', pom, 'dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${directory}`],
    ),
  );
}

/** Starts it in memory, on a free port of the loopback interface. Needs Java 17 or newer. */
export async function startDynamoDbLocal(jars: string): Promise<DynamoDbLocal> {
  const portLine = /^Listening on port (\d+)$/m;
  const server = await startServer(
    [
      'java',
      '-Xmx512m',
      `-Djava.library.path=${jars}`,
      '-classpath',
      join(jars, '*'),
      join(import.meta.dirname, 'StartDynamoDbLocal.java'),
    ],
    {
      logFile: join(localDirectory('dynamodb-local'), 'output.log'),
      isReady: (output) => portLine.test(output),
    },
  );
  return { ...server, url: `http://127.0.0.1:${server.output().match(portLine)?.[1]}` };
}
