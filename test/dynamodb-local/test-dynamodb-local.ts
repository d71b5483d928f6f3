import { join } from 'node:path';
import { execa } from 'execa';
import { runJest, shown, startServer } from '../support/commands.ts';
import { installed, localDirectory } from '../support/local-directories.ts';
import { requireTools } from '../support/needed-tools.ts';
import { testsWithStore } from '../support/select-tests.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { checkPublishedEvents } from './published-events.ts';

const pom = join(import.meta.dirname, 'pom.xml');
const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const portLine = /^Listening on port (\d+)$/m;

/** Fetches the version that the pom names; the folder of its jars. Needs Maven. */
const install = (): Promise<string> =>
  installed('dynamodb-local', pom, (directory) => {
    const options = ['-DincludeScope=runtime', `-DoutputDirectory=${directory}`];
    return execa('mvn', ['--quiet', '--batch-mode', '--file', pom, copyDependencies, ...options], shown);
  });

/** Starts it in memory, on a free port of the loopback interface. Needs Java 17 or newer. */
const start = (jars: string) => {
  const main = join(import.meta.dirname, 'StartDynamoDbLocal.java');
  const options = ['-Xmx512m', `-Djava.library.path=${jars}`, '-classpath', join(jars, '*')];
  return startServer(['java', ...options, main], {
    logFile: join(localDirectory('dynamodb-local'), 'output.log'),
    isReady: (output) => portLine.test(output),
  });
};

/** Runs the tests that lean on the store against Amazon's DynamoDB Local. */
runCheck(async (cleanUps) => {
  await requireTools([
    ['java -version', 'default-jdk-headless'],
    ['mvn --version', 'maven'],
  ]);
  const jars = await step('Fetch DynamoDB Local from Maven Central', install);
  const server = cleanUps.use(await step('Start it', () => start(jars)));
  const url = `http://127.0.0.1:${server.output().match(portLine)?.[1]}`;
  print(`    ${url}`);
  await step('Publish what happens from the real stream of a table', () => checkPublishedEvents(url));
  await step('Run the tests that lean on a store against it, those that watch or disturb it too', () =>
    runJest(testsWithStore(), { DYNAMODB_ENDPOINT: url }),
  );
});
