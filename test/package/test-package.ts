import assert from 'node:assert/strict';
import {
  existsSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { execa } from 'execa';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { codeBlock } from '../support/code-blocks.ts';
import { startServer } from '../support/commands.ts';
import { countedChecks, runCheck, step } from '../support/steps.ts';
import {
  type App,
  countPackages,
  install,
  makeOldApp,
  makeTypeScriptApp,
  runIn,
  useService,
} from './apps.ts';

const root = join(import.meta.dirname, '../..');
const example = codeBlock('embedding.md', 'ts', 'Use it');

/** The program of the page with the edge, and with settings that use more of the CDK. */
const withMore = example
  .replace('import { LoginService }', 'import { Edge, LoginService }')
  .replace('new LoginService(', 'const login = new LoginService(')
  .replace(
    'alarmEmail:',
    `kmsKeyArn: 'arn:aws:kms:eu-central-1:123456789012:key/12345678-1234-1234-1234-123456789012',
  loginHook: 'hook',
  tracing: true,
  archiveDays: 30,
  tokenConcurrency: 2,
  edge: true,
  edgeCertificateArn: 'arn:aws:acm:us-east-1:123456789012:certificate/1234-abcd',
  edgeLogs: true,
  edgeAllowedAddresses: ['192.0.2.0/24'],
  alarmEmail:`,
  )
  .concat('new Edge(app, login);\n');

/** How an app that `cdk init` made runs a program. */
const run = ['npx', 'tsx', 'app.ts'];

/**
 * Packs the project, and installs the tarball in apps that `cdk init` makes, where it is used as its
 * page says. Its template is that of `cdk deploy` here.
 */
runCheck(async (cleanUps) => {
  const temporary = cleanUps.use(mkdtempDisposableSync(join(tmpdir(), 'package-'))).path;
  const folder = join(temporary, 'package');
  const tarball = await step('npm run package', () => pack(folder));
  const [app, oldApp, fromClone] = await step('cdk init, and cdk synth here', () =>
    Promise.all([
      makeTypeScriptApp(join(temporary, 'shop')),
      makeOldApp(join(temporary, 'old'), tarball),
      synthesizeHere(join(temporary, 'cdk.out')),
    ]),
  );
  const { check, conclude } = countedChecks('package');

  await check(
    'The tarball has code, declarations, bundles and pages, and nothing else',
    async () => {
      const { stdout } = await execa('tar', ['-tzf', tarball]);
      const files = stdout.split('\n');
      const known =
        /^package\/(package\.json|README\.md|THIRD-PARTY-NOTICES\.txt|docs\/[\w/.-]+|bundles\/[\w-]+\/index\.mjs|lib\/[\w-]+\.[cm]js|types\/[\w/-]+\.d\.ts|page\/[\w-]+\.(html|css|js))$/;
      assert.deepEqual(
        files.filter((file) => !known.test(file)),
        [],
      );
      for (const file of ['docs/policies/deployer.json', 'docs/examples/send-push.mjs'])
        assert.ok(files.includes(`package/${file}`), `It has no ${file}.`);
      return `${files.length} files`;
    },
  );
  await check('It has the notices of each package whose code it contains', async () => {
    const notices = readFileSync(join(folder, 'THIRD-PARTY-NOTICES.txt'), 'utf8');
    for (const name of ['@aws-sdk/client-dynamodb', 'jose', 'valibot', 'swagger-ui-dist'])
      assert.match(notices, new RegExp(`^${name} [\\d.]+ \\(`, 'm'));
    for (const text of ['Copyright (c) 2018 Filip Skokan', 'Fabian Hiller', 'Apache License'])
      assert.ok(notices.includes(text), `They have no ${text}.`);
  });
  await check('It brings no other package, and runs nothing when it is installed', async () => {
    const before = countPackages(app);
    await install(app, tarball);
    assert.equal(countPackages(app), before + 1);
    const { packages } = JSON.parse(readFileSync(join(app.folder, 'package-lock.json'), 'utf8'));
    assert.equal(packages['node_modules/login-service'].hasInstallScript, undefined);
  });
  await check('The app that cdk init makes can contain it, and test it', async () => {
    useService(app);
    await runIn(app, ['npm', 'run', 'build']);
    assert.match((await runIn(app, ['npm', 'test'])).all, /Tests: +1 passed, 1 total/);
    await runIn(app, ['npx', 'cdk', 'synth', '--quiet']);
    assert.ok(Object.values(readAssembly(join(app.folder, 'cdk.out'))).length > 0);
  });
  await check('The app on the page is 15 lines, and its types are right', async () => {
    assert.ok(example.split('\n').length <= 15 + 1);
    writeFileSync(join(app.folder, 'app.ts'), example);
    await runIn(app, ['npx', 'tsc']);
  });
  await check(
    'A wrong prop is an error of the compiler, and at synth one that names it',
    async () => {
      const wrong = join(app.folder, 'wrong.ts');
      writeFileSync(wrong, example.replace("alarmEmail: 'ops@example.com'", "rateLimit: 'often'"));
      await assert.rejects(
        runIn(app, ['npx', 'tsc']),
        /wrong\.ts.*'string' is not assignable to type 'number/,
      );
      await assert.rejects(
        runIn(app, ['npx', 'tsx', 'wrong.ts']),
        /LoginService accounts\/LoginService: the prop rateLimit must be a whole number from 1 to 100000, not 'often'\./,
      );
      rmSync(wrong);
    },
  );
  await check('Its props have the types of the settings, and their texts', async () => {
    const declarations = 'types/infra/settings/setting-types.d.ts';
    await compareTypes(join(folder, declarations), join(temporary, 'compare.ts'));
    assert.match(
      readFileSync(join(folder, declarations), 'utf8'),
      /The longest lifetime of any session, in seconds\..*\n.*@default `31536000`/,
    );
  });
  await check('It gets the template of a deployment from here, but for names', async () => {
    assert.deepEqual(withoutNames(await synthesize(app, run, example)), withoutNames(fromClone));
  });
  await check(
    'With the id Default, it gets the same template, so that a deployed stack loses nothing',
    async () => {
      const moved = example.replace("'LoginService', {", "'Default', {");
      assert.deepEqual(await synthesize(app, run, moved), fromClone);
    },
  );
  await check(
    'An app of CommonJS modules gets the same templates from the oldest CDK, on the oldest Node',
    async () => {
      const { stdout } = await runIn(oldApp, [oldApp.node, '--version']);
      const words = [oldApp.node, 'app.js'];
      assert.deepEqual(
        await synthesize(oldApp, words, asCommonJs(withMore)),
        await synthesize(app, run, withMore),
      );
      const { version } = JSON.parse(
        readFileSync(join(oldApp.folder, 'node_modules/aws-cdk-lib/package.json'), 'utf8'),
      );
      return `aws-cdk-lib ${version}, Node ${stdout}`;
    },
  );
  await check('What is imported is what is required', async () => {
    const compare = `
      import { createRequire } from 'node:module';
      import { LoginService } from 'login-service';
      const required = createRequire(process.cwd() + '/app.js')('login-service');
      process.stdout.write(String(LoginService === required.LoginService));`;
    const words = [app.node, '--input-type=module', '--eval', compare];
    assert.equal((await runIn(app, words)).stdout, 'true');
  });
  await check('An older Node is an error that names the one it needs', async () => {
    const older = "Object.defineProperty(process.versions, 'node', { value: '20.19.0' });";
    const words = [app.node, '--eval', `${older} require('login-service')`];
    await assert.rejects(runIn(app, words), /login-service needs Node 22\.13 or newer\./);
  });
  await check('npx login-service operator and template need no other package', async () => {
    for (const program of ['operator', 'template']) {
      const { stdout } = await runIn(app, ['npx', 'login-service', program, '--help']);
      assert.ok(stdout.startsWith(`Usage: npx login-service ${program} `), stdout);
    }
  });
  await check('npx login-service start says what to install, and then runs', async () => {
    const words = ['npx', 'login-service', 'start'];
    const { exitCode, stderr } = await runIn(app, words).catch((error) => error);
    assert.equal(exitCode, 1);
    const [, packages = ''] = /^npm install --save-dev (.+)$/m.exec(stderr) ?? [];
    await install(app, '--save-dev', ...packages.split(' '));
    await using server = await startServer(words, {
      cwd: app.folder,
      extendEnv: false,
      env: { ...app.environment, PORT: '0' },
      logFile: join(temporary, 'start.log'),
      isReady: (output) => output.includes('Ctrl-C'),
    });
    const [url = ''] = server.output().match(/(?<=runs at )\S+(?=,)/) ?? [];
    assert.equal((await fetch(`${url}/docs/page.js`)).status, 200);
    for (const file of ['template.json', 'code/issue-token.mjs', 'code/reach-host.mjs'])
      assert.ok(existsSync(join(app.folder, '.local/sam', file)), `It wrote no ${file} for SAM.`);
    const create = ['login-apps', 'create', '--name', 'My app', '--local'];
    const { stdout } = await runIn(app, ['npx', 'login-service', 'operator', ...create]);
    assert.match(JSON.parse(stdout).login_app_id, /^la_/);
  });
  await check('Only a registry that is named takes it', async () => {
    const published: string[] = [];
    const registry = await serve(async (request, response) => {
      const body = (await readBody(request)).toString();
      if (request.method === 'PUT') published.push(JSON.parse(body).name);
      response.writeHead(request.method === 'PUT' ? 201 : 404).end('{}');
    });
    cleanUps.defer(registry.close);
    const authority = registry.url.replace('http:', '');
    const publish = (...more: string[]) =>
      runIn(app, ['npm', 'publish', tarball, `--${authority}/:_authToken=any`, ...more]);
    await assert.rejects(publish(), /name-your-own-registry\.invalid/);
    assert.deepEqual(published, []);
    await publish(`--registry=${registry.url}`);
    assert.deepEqual(published, ['login-service']);
  });
  conclude();
});

/** Makes the tarball of the package as `npm run package` does, without touching the project. */
async function pack(folder: string): Promise<string> {
  const env = { NODE_OPTIONS: '' };
  await execa(process.execPath, ['infra/package/build.ts', folder], { cwd: root, env });
  const destination = join(folder, '..');
  const { stdout } = await execa('npm', ['pack', '--silent', folder], { cwd: destination });
  return join(destination, stdout.trim());
}

/** The templates of a synthesis, by their stacks. */
type Assembly = Record<string, unknown>;

async function synthesize(app: App, words: string[], main: string): Promise<Assembly> {
  const CDK_OUTDIR = join(app.folder, 'synthesized');
  rmSync(CDK_OUTDIR, { recursive: true, force: true });
  writeFileSync(join(app.folder, words.at(-1) ?? ''), main);
  await runIn(app, words, { CDK_OUTDIR, CDK_CONTEXT_JSON: JSON.stringify(featureFlags) });
  return readAssembly(CDK_OUTDIR);
}

/** The program of the page as a CommonJS module. */
const asCommonJs = (program: string): string =>
  program.replaceAll(/^import (.+) from (.+);$/gm, 'const $1 = require($2);');

/** Synthesizes the deployment that the page describes, by the settings of this project. */
async function synthesizeHere(CDK_OUTDIR: string): Promise<Assembly> {
  const settings = Object.fromEntries(
    [...example.matchAll(/(\w+): '([^']*)'/g)].map(([, name = '', value = '']) => [name, value]),
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
    // Of policies, of versions, of all new versions together, and of the template within, which have
    // hashes of what names others.
    .replaceAll(/(?<=Rights|CurrentVersion)(-|[0-9A-F]{8})[0-9a-f]+/g, '')
    .replaceAll(/(?<="NewVersions":")[0-9a-f]+/g, '')
    .replaceAll(/[0-9a-f]{64}(?=\.json)/g, '')
    .replaceAll(/(?<=[A-Za-z0-9])([0-9A-F]{8})+(?=\W|[A-Z])/g, '');
  return JSON.parse(text);
}

/** Compiles a program in which the props of the package and of the project must be the same. */
async function compareTypes(declarations: string, program: string): Promise<void> {
  const source = join(root, 'infra/settings/setting-types.ts');
  const [theirs, ours] = [declarations, source].map(
    (file) => `Required<import(${JSON.stringify(file)}).ServiceSettings>`,
  );
  writeFileSync(
    program,
    `export const there = (props: ${ours}): ${theirs} => props;
     export const back = (props: ${theirs}): ${ours} => props;`,
  );
  const options =
    '--noEmit --strict --exactOptionalPropertyTypes --allowImportingTsExtensions --skipLibCheck --module nodenext --target es2024 --types node';
  const tsc = join(root, 'node_modules/.bin/tsc');
  await execa(tsc, ['--ignoreConfig', ...options.split(' '), program], { cwd: root });
}
