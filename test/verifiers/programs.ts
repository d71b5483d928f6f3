import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { execa } from 'execa';
import { installed, localDirectory } from '../../infra/local/local-files.ts';
import { serve } from '../../infra/local/loopback-server.ts';
import { codeBlock } from '../support/code-blocks.ts';
import { asTested, freePort, installPython, shown, startServer } from '../support/commands.ts';

/** The service whose tokens are verified: the variables that the recipes read. */
interface Issuer extends Record<string, string> {
  ISSUER: string;
  LOGIN_APP_ID: string;
}

/** Verifies tokens, one after the other: `accepted`, or `rejected: …`. */
export type Verify = (issuer: Issuer, tokens: string[]) => Promise<string[]>;

const here = import.meta.dirname;
const page = 'verifying-tokens.md';
const workDirectory = (name: string): string => localDirectory('verifiers', name);

/** A program that reads a token a line, and writes a verdict a line. */
const program =
  (command: string, words: string[], environment: Record<string, string> = {}): Verify =>
  async (issuer, tokens) => {
    const env = { ...environment, ...issuer };
    const input = `${tokens.join('\n')}\n`;
    return (await execa(command, words, { env, input, stderr: 'inherit' })).stdout.split('\n');
  };

/**
 * Verdicts of a server about requests with each token: `accepted`, or the status and the challenge.
 */
async function verdictsOver(method: string, url: string, tokens: string[]): Promise<string[]> {
  const verdicts: string[] = [];
  for (const token of tokens) {
    const authorization = `Bearer ${token}`;
    const { ok, status, headers } = await fetch(url, { method, headers: { authorization } });
    verdicts.push(ok ? 'accepted' : `rejected: ${status} ${headers.get('www-authenticate')}`);
  }
  return verdicts;
}

/** Installs Express and jose; the verdicts of the recipe's program about requests of a method. */
export async function express(): Promise<(method: 'GET' | 'DELETE') => Verify> {
  const directory = workDirectory('express');
  const packages = ['express@5.3.0', 'jose@6.2.17'];
  await execa('npm', ['install', '--silent', '--prefix', directory, ...packages], {
    ...shown,
    env: asTested,
  });
  const file = join(directory, 'orders.mjs');
  writeFileSync(file, codeBlock(page, 'js', 'Express'));
  const env = { ISSUER: 'http://127.0.0.1', LOGIN_APP_ID: '', PORT: '0' };
  const { stderr } = await execa(process.execPath, [file], { env, reject: false, timeout: 60_000 });
  assert.match(stderr, /^Error: Set ISSUER and LOGIN_APP_ID\.$/m);
  return (method) => async (issuer, tokens) => {
    const port = await freePort();
    await using server = await startServer([process.execPath, file], {
      logFile: join(directory, 'orders.log'),
      env: { ...issuer, PORT: port },
      isReady: (output) => output.includes('Orders are at'),
    });
    const verdicts = await verdictsOver(method, `http://127.0.0.1:${port}/orders`, tokens);
    assert.match(server.output(), /^Token rejected: "exp" claim timestamp check failed$/m);
    return verdicts;
  };
}

/** Fetches what comes from PyPI; the folder of the commands. */
export const installPythonPackages = (): Promise<string> =>
  installPython('verifiers', join(here, 'requirements.txt'));

/** go-oidc. Go's own tools come from PyPI too: they are newer than those of most systems. */
export async function go(commands: string): Promise<Verify> {
  const directory = workDirectory('go');
  for (const name of ['go.mod', 'go.sum', 'main.go'])
    copyFileSync(join(here, 'go', name), join(directory, name));
  writeFileSync(join(directory, 'login_user.go'), codeBlock(page, 'go', 'Go'));
  const env = { GOTOOLCHAIN: 'local', CGO_ENABLED: '0' };
  await execa(join(commands, 'go'), ['build', '-buildvcs=false', '-o', 'verify', '.'], {
    ...shown,
    cwd: directory,
    env,
  });
  return program(join(directory, 'verify'), []);
}

/**
 * Verdicts of the program in Go about a token: before a change of the published keys, and five
 * minutes after it.
 */
export async function verdictsAround(
  issuer: Issuer,
  token: string,
  change: () => Promise<unknown>,
): Promise<string[]> {
  const verifier = execa(join(workDirectory('go'), 'verify'), { env: issuer });
  const lines = createInterface(verifier.stdout)[Symbol.asyncIterator]();
  const verdictOn = async (line: string): Promise<string> => {
    verifier.stdin.write(line);
    return String((await lines.next()).value);
  };
  const before = await verdictOn(`${token}\n`);
  await change();
  const after = await verdictOn(`\n${token}\n`);
  verifier.stdin.end();
  await verifier;
  return [before, after];
}

/** PyJWT's PyJWKClient. */
export async function python(commands: string): Promise<Verify> {
  const directory = workDirectory('python');
  writeFileSync(join(directory, 'login_user.py'), codeBlock(page, 'python', 'Python'));
  const words = ['-B', join(here, 'python/verify.py')];
  return program(join(commands, 'python'), words, { PYTHONPATH: directory });
}

/**
 * Verdicts of Envoy, in front of a server that answers every request with a token: it lets a
 * request pass, or answers itself.
 */
export const envoy =
  (commands: string): Verify =>
  async (issuer, tokens) => {
    const directory = workDirectory('envoy');
    writeFileSync(join(directory, 'envoy.yaml'), codeBlock(page, 'yaml', 'Envoy'));
    await execa('bash', ['-e'], {
      cwd: directory,
      env: issuer,
      input: codeBlock(page, 'sh', 'Envoy'),
    });
    const backend = await serve(({ headers }, response) => {
      response.writeHead(headers.authorization ? 200 : 500).end();
    });
    const port = await freePort();
    const file = join(directory, 'envoy-local.yaml');
    const ports = readFileSync(file, 'utf8')
      .replace('address: 0.0.0.0, port_value: 8000', `address: 127.0.0.1, port_value: ${port}`)
      .replace('port_value: 8080', `port_value: ${new URL(backend.url).port}`);
    writeFileSync(file, ports);
    const url = `http://127.0.0.1:${port}`;
    await using _envoy = await startServer(
      [join(commands, 'envoy'), '--config-path', file, '--use-dynamic-base-id'],
      {
        logFile: join(directory, 'envoy.log'),
        isReady: async () => (await fetch(url).catch(() => undefined))?.status === 401,
      },
    );
    const verdicts = await verdictsOver('GET', url, tokens);
    await backend.close();
    return verdicts;
  };

const copyDependencies =
  'org.apache.maven.plugins:maven-dependency-plugin:3.11.0:copy-dependencies';

/** Spring Security, with Nimbus JOSE + JWT. Needs a JDK, 17 or newer, and Maven. */
export async function java(): Promise<Verify> {
  const pom = join(here, 'java/pom.xml');
  const jars = await installed('verifiers-java', pom, (directory) => {
    const options = ['-DincludeScope=runtime', `-DoutputDirectory=${directory}`];
    return execa(
      'mvn',
      ['--quiet', '--batch-mode', '--file', pom, copyDependencies, ...options],
      shown,
    );
  });
  const directory = workDirectory('java');
  const recipeFile = join(directory, 'LoginUserTokens.java');
  writeFileSync(recipeFile, codeBlock(page, 'java', 'Java and Spring'));
  const classpath = [directory, join(jars, '*')].join(delimiter);
  await execa(
    'javac',
    ['-d', directory, '-cp', classpath, recipeFile, join(here, 'java/Verify.java')],
    shown,
  );
  return program('java', ['-cp', classpath, 'Verify']);
}

/**
 * Lints the recipes for AWS by cfn-lint; how many there are.
 * @throws Error when one has a fault
 */
export async function lintTemplates(commands: string): Promise<number> {
  const directory = localDirectory('verifiers', 'templates');
  const file = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const app = file('orders.ts', codeBlock(page, 'ts', 'API Gateway'));
  await execa(process.execPath, [app], { ...shown, env: { CDK_OUTDIR: directory } });
  const templates = [
    join(directory, 'Orders.template.json'),
    file('load-balancer.yaml', codeBlock(page, 'yaml', 'Load balancer')),
  ];
  await execa(join(commands, 'cfn-lint'), templates, shown);
  return templates.length;
}
