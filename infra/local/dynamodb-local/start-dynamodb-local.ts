import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { installed } from '../local-files.ts';
import type { LoopbackServer } from '../loopback-server.ts';

const pom = join(import.meta.dirname, 'pom.xml');
const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

/** The folder of the jars of the version that the pom names. Maven fetches them, once. */
function fetchJars(say: (line: string) => void): Promise<string> {
  return installed('dynamodb-local', pom, (directory) => {
    say('Fetching DynamoDB Local from Maven Central, once …');
    const options = ['--quiet', '--batch-mode', '--file', pom];
    const into = ['-DincludeScope=runtime', `-DoutputDirectory=${directory}`];
    return promisify(execFile)('mvn', [...options, copyDependencies, ...into]);
  });
}

/**
 * Starts Amazon's DynamoDB Local in memory, on a free port of the loopback interface. It ends with this process, however
 * that ends. Needs Java 17 or newer, and Maven for the first time.
 * @param say takes lines about what takes long
 * @throws Error saying why it did not start
 */
export async function startDynamoDbLocal(say: (line: string) => void): Promise<LoopbackServer> {
  try {
    const jars = await fetchJars(say);
    const main = join(import.meta.dirname, 'StartDynamoDbLocal.java');
    const options = ['-Xmx512m', `-Djava.library.path=${jars}`, '-classpath', join(jars, '*')];
    // In a group of its own, a Ctrl-C leaves it alone: the stack needs it until it has stopped.
    const server = spawn('java', [...options, main], { detached: true });
    let output = '';
    for (const stream of [server.stdout, server.stderr]) stream.on('data', (text) => (output += text));
    const ended = once(server, 'close');
    const hasStarted = async () => {
      let port: string | undefined;
      while (!port) {
        await once(server.stdout, 'data');
        [, port] = output.match(/^Listening on port (\d+)$/m) ?? [];
      }
      return port;
    };
    const port = await Promise.race([hasStarted(), ended.then(() => Promise.reject(new Error(output)))]);
    const close = async () => {
      server.stdin.end();
      await ended;
    };
    return { url: `http://127.0.0.1:${port}`, close };
  } catch (cause) {
    throw new Error(whyNot(cause), { cause });
  }
}

function whyNot(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
    return 'DynamoDB Local needs Java 17 and Maven. This installs them: apt-get install default-jdk-headless maven';
  return `DynamoDB Local did not start. ${error instanceof Error ? error.message : error}`;
}
