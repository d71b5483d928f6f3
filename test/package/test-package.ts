import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { execa } from 'execa';
import cdkJson from '../../cdk.json' with { type: 'json' };
import packageJson from '../../package.json' with { type: 'json' };
import { codeBlock } from '../support/code-blocks.ts';
import { asTested, startServer } from '../support/commands.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { countedChecks, runCheck, step } from '../support/steps.ts';

const root = join(import.meta.dirname, '../..');
/**
 * Packs the project, installs the tarball elsewhere and uses it as its page says. Its template is
 * that of `cdk deploy` here.
 */
runCheck(async (cleanUps) => {
  await requireTools([tools.git]);
  const temporary = cleanUps.use(mkdtempDisposableSync(join(tmpdir(), 'package-'))).path;
  const tarball = await step('npm pack', () => packCopy(join(temporary, 'project')));
  const app = join(temporary, 'app');
  await step('npm install', () => install(tarball, app));
  const inApp = {
    cwd: app,
    extendEnv: false,
    env: { PATH: process.env.PATH, HOME: temporary },
  } as const;
  const node = (words: string[], env: Record<string, string> = {}) =>
    execa(process.execPath, words, { ...inApp, env: { ...inApp.env, ...env } });
  const options = '--noEmit --strict --skipLibCheck --module nodenext --target es2024 --types node';
  const tsc = join(root, 'node_modules/.bin/tsc');
  const compile = (file: string) => execa(tsc, [...options.split(' '), file], inApp);

  const example = codeBlock('embedding.md', 'ts', 'Use it');
  const synthesize = async (main: string): Promise<Assembly> => {
    writeFileSync(join(app, 'app.ts'), main);
    const CDK_OUTDIR = join(app, 'cdk.out');
    rmSync(CDK_OUTDIR, { recursive: true, force: true });
    await node(['app.ts'], { CDK_OUTDIR, CDK_CONTEXT_JSON: JSON.stringify(featureFlags) });
    return readAssembly(CDK_OUTDIR);
  };
  const fromClone = await step('synthesize here', () =>
    synthesizeHere(join(temporary, 'cdk.out'), example),
  );

  const { check, conclude } = countedChecks('package');
  await check(
    'The tarball has code, declarations, bundles and pages, and nothing else',
    async () => {
      const { stdout } = await execa('tar', ['-tzf', tarball]);
      const files = stdout.split('\n');
      const known =
        /^package\/(package\.json|README\.md|docs\/[\w-]+\.md|dist\/(package\.json|README\.md|docs\/openapi\.json|bundles\/[\w-]+\/index\.mjs|(functions|infra|lib)\/.*(\.js|\.d\.ts|\/examples\.json)|infra\/docs\/page\/browser\/.*|infra\/local\/sam\/reach-host\.mjs))$/;
      assert.deepEqual(
        files.filter((file) => !known.test(file)),
        [],
      );
      assert.deepEqual(
        files.filter((file) => /\/test\/|\bdeployments\//.test(file)),
        [],
      );
      return `${files.length} files`;
    },
  );
  await check('The app on the page is 15 lines, and its types are right', async () => {
    assert.ok(example.split('\n').length <= 15 + 1);
    writeFileSync(join(app, 'app.ts'), example);
    await compile('app.ts');
  });
  await check(
    'A wrong prop is an error of the compiler, and at synth one that names it',
    async () => {
      const wrong = example.replace("alarmEmail: 'ops@example.com'", "rateLimit: 'often'");
      writeFileSync(join(app, 'wrong.ts'), wrong);
      await assert.rejects(
        compile('wrong.ts'),
        /wrong\.ts.*'string' is not assignable to type 'number/,
      );
      await assert.rejects(
        node(['wrong.ts']),
        /LoginService accounts\/LoginService: the prop rateLimit must be a whole number from 1 to 100000, not 'often'\./,
      );
    },
  );
  await check('It gets the template of a deployment from here, but for names', async () => {
    assert.deepEqual(withoutNames(await synthesize(example)), withoutNames(fromClone));
  });
  await check(
    'With the id Default, it gets the same template, so that a deployed stack loses nothing',
    async () => {
      assert.deepEqual(
        await synthesize(example.replace("'LoginService', {", "'Default', {")),
        fromClone,
      );
    },
  );
  await check('An app of CommonJS modules can load it', async () => {
    const { stdout } = await node(['--print', "typeof require('login-service').LoginService"]);
    assert.equal(stdout, 'function');
  });
  await check(
    'npx login-service start runs it, and npx login-service operator its commands',
    async () => {
      const run = { ...inApp, logFile: join(temporary, 'start.log') };
      const isReady = (output: string): boolean => output.includes('Ctrl-C');
      await using server = await startServer(['npx', 'login-service', 'start'], {
        ...run,
        env: { ...inApp.env, PORT: '0' },
        isReady,
      });
      const [url = ''] = server.output().match(/(?<=runs at )\S+(?=,)/) ?? [];
      assert.equal((await fetch(`${url}/docs/page.js`)).status, 200);
      for (const file of ['template.json', 'code/issue-token.mjs', 'code/reach-host.mjs'])
        assert.ok(existsSync(join(app, '.local/sam', file)), `It wrote no ${file} for SAM.`);
      const operator = (...words: string[]) =>
        execa('npx', ['login-service', 'operator', ...words], inApp);
      const { stdout } = await operator('login-apps', 'create', '--name', 'My app', '--local');
      assert.match(JSON.parse(stdout).login_app_id, /^la_/);
      assert.match((await operator('--help')).stdout, /^Usage: npx login-service operator /);
      const template = await execa('npx', ['login-service', 'template', '--help'], inApp);
      assert.match(template.stdout, /^Usage: npx login-service template /);
    },
  );
  conclude();
});

/** The templates of a synthesis, by their stacks. */
type Assembly = Record<string, unknown>;

/**
 * Packs a copy of the project, in which `npm pack` may replace package.json while others use the
 * project.
 */
async function packCopy(copy: string): Promise<string> {
  const { stdout } = await execa(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard'],
    {
      cwd: root,
    },
  );
  for (const file of stdout.split('\n')) cpSync(join(root, file), join(copy, file));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const PATH = [join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter);
  const before = readFileSync(join(copy, 'package.json'), 'utf8');
  await execa('npm', ['pack', '--silent'], { cwd: copy, env: { PATH, NODE_OPTIONS: '' } });
  assert.equal(readFileSync(join(copy, 'package.json'), 'utf8'), before);
  const [tarball = ''] = readdirSync(copy).filter((name) => name.endsWith('.tgz'));
  return join(copy, tarball);
}

async function install(tarball: string, app: string): Promise<void> {
  mkdirSync(app);
  const { 'aws-cdk-lib': cdk, constructs, '@types/node': types } = packageJson.devDependencies;
  const dependencies = {
    'login-service': `file:${tarball}`,
    'aws-cdk-lib': cdk,
    constructs,
    '@types/node': types,
  };
  writeFileSync(
    join(app, 'package.json'),
    JSON.stringify({ type: 'module', private: true, dependencies }),
  );
  const words = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'];
  await execa('npm', words, { cwd: app, env: asTested });
}

/** Synthesizes the deployment that an app describes, by the settings of this project. */
async function synthesizeHere(CDK_OUTDIR: string, app: string): Promise<Assembly> {
  const settings = Object.fromEntries(
    [...app.matchAll(/(\w+): '([^']*)'/g)].map(([, name = '', value = '']) => [name, value]),
  );
  const CDK_CONTEXT_JSON = JSON.stringify({ ...cdkJson.context, ...settings, stack: 'accounts' });
  await execa(process.execPath, ['infra/app.ts'], {
    cwd: root,
    env: { CDK_OUTDIR, CDK_CONTEXT_JSON, NODE_OPTIONS: '' },
  });
  return readAssembly(CDK_OUTDIR);
}

const readAssembly = (folder: string): Assembly =>
  Object.fromEntries(
    readdirSync(folder)
      .filter((name) => name.endsWith('.template.json'))
      .map((name) => [
        name.replace('LoginService', ''),
        JSON.parse(readFileSync(join(folder, name), 'utf8')),
      ]),
  );

/**
 * An assembly without what differs with the id of the construct: the id itself, and hashes that ids
 * end in.
 */
function withoutNames(assembly: Assembly): unknown {
  const text = JSON.stringify(assembly)
    .replaceAll('LoginService', '')
    // Of policies, of versions, and of the template within, which have hashes of what names others.
    .replaceAll(/(?<=Rights|CurrentVersion)(-|[0-9A-F]{8})[0-9a-f]+/g, '')
    .replaceAll(/[0-9a-f]{64}(?=\.json)/g, '')
    .replaceAll(/(?<=[A-Za-z0-9])([0-9A-F]{8})+(?=\W|[A-Z])/g, '');
  return JSON.parse(text);
}
