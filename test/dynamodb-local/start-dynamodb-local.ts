import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { installed } from '../../infra/local/local-files.ts';
import type { LoopbackServer } from '../../infra/local/loopback-server.ts';

const pom = join(import.meta.dirname, 'pom.xml');
const main = join(import.meta.dirname, 'StartDynamoDbLocal.java');
const copyDependencies =
  'org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy-dependencies';

/**
 * Starts Amazon's DynamoDB Local in memory, until this process ends. Needs Java 17 or newer, and
 * Maven for the first time.
 */
export async function startDynamoDbLocal(say: (line: string) => void): Promise<LoopbackServer> {
  const jars = await installed('dynamodb-local', pom, (directory) => {
    say('Fetching DynamoDB Local from Maven Central, once …');
    const options = ['--quiet', '--batch-mode', '--file', pom];
    const into = ['-DincludeScope=runtime', `-DoutputDirectory=${directory}`];
    return promisify(execFile)('mvn', [...options, copyDependencies, ...into]);
  });
  // Half of the processor time: a run is too short for the thorough compiler, and for parallel
  // collection of garbage.
  const forShortRuns = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
  const options = [
    '-Xmx512m',
    ...forShortRuns,
    `-Djava.library.path=${jars}`,
    '-classpath',
    join(jars, '*'),
  ];
  // Its own process group: a Ctrl-C must not end it before the stack.
  const server = spawn('java', [...options, main], { detached: true });
  await once(server, 'spawn');
  let problems = '';
  server.stderr.on('data', (text) => (problems += text));
  for await (const line of createInterface(server.stdout)) {
    const [, port] = line.match(/^Listening on port (\d+)$/) ?? [];
    if (!port) continue;
    server.stdout.resume();
    const close = async () => {
      server.stdin.end();
      await once(server, 'close');
    };
    return { url: `http://127.0.0.1:${port}`, close };
  }
  throw new Error(`DynamoDB Local did not start. ${problems}`);
}
