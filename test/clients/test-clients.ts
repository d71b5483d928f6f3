import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { build } from 'esbuild';
import { execa } from 'execa';
import { exportJWK } from 'jose';
import { localDirectory } from '../../infra/local/local-files.ts';
import { tryIt } from '../../infra/local/try-it.ts';
import { newClientKey, secretlessClients } from '../support/client-assertions.ts';
import { codeBlock } from '../support/code-blocks.ts';
import { asTested, installPython } from '../support/commands.ts';
import { createClient } from '../support/login-app.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { newPhone, newPublicClient } from '../support/phone.ts';
import { serviceOf, unique } from '../support/service.ts';
import { startService } from '../support/start-service.ts';
import { countedChecks, runCheck, step } from '../support/steps.ts';
import { byToken } from '../support/token-exchange.ts';
import {
  compileSwift,
  copyExamples,
  hasXcode,
  newPublicClientOfPhone,
  runReference,
  sendFaults,
  startBackend,
  usePhone,
} from './phones.ts';

const here = import.meta.dirname;

/** The block of a language on the page about clients, below a heading. */
const blockOf = (heading: string | undefined, language: string): string =>
  codeBlock('clients.md', language, heading);

/** What OpenAPI Generator warns of though nothing is wrong with the document; the page says why. */
const notAboutTheDocument = [
  /OpenAPI 3\.1 support is still in beta/,
  /Failed to get the schema name: null/,
  /Type \(reserved word\) cannot be used as model name\. Renamed to ModelType/,
];

/**
 * Generates and uses the page's clients, has OAuth libraries judge the token endpoints, and runs
 * the phones' quickstarts.
 */
runCheck(async (cleanUps) => {
  await requireTools([tools.jdk, tools.maven, tools.python]);
  const commands = await step('Install Authlib', () =>
    installPython('authlib', join(here, 'python/requirements.txt')),
  );
  const running = await step('Start the service on this machine', () =>
    startService({}, { movableClock: true }),
  );
  cleanUps.defer(() => running.stop().then(() => {}));
  const service = serviceOf(running.demo, running.directory);
  const { base_url, login_app } = service.demo;
  const folder = localDirectory('clients');
  for (const generated of ['client', 'kotlin-client', 'swift-client', 'package-lock.json']) {
    rmSync(join(folder, generated), { recursive: true, force: true });
  }
  const typescript = join(here, 'typescript');
  for (const name of readdirSync(typescript))
    copyFileSync(join(typescript, name), join(folder, name));

  // The page's examples are compiled along.
  writeFileSync(join(folder, 'example.mts'), blockOf('Use the TypeScript client', 'ts'));
  const example = localDirectory('clients', 'kotlin-example');
  writeFileSync(join(example, 'HttpClient.kt'), blockOf('Kotlin', 'kotlin'));
  copyExamples(example, 'Session.kt', 'PublicClient.kt');
  copyExamples(folder, 'session.ts', 'public-client.ts', 'reference.ts');

  const { check, conclude } = countedChecks('clients');
  // A reader's Node is the machine's own, which may be older than that of the project.
  const PATH = process.env.PATH?.split(delimiter).filter((one) => !one.includes('node_modules'));
  const run = async (heading: string | undefined, before = ''): Promise<string> => {
    const input = `${before}${blockOf(heading, 'sh')}`;
    const env = { ...asTested, BASE: base_url, PATH: PATH?.join(delimiter) };
    return (await execa('bash', ['-e'], { cwd: folder, input, env, all: true })).all ?? '';
  };
  const generate = async (heading: string): Promise<void> => {
    const warnings = (await run(heading))
      .split('\n')
      .filter((line) => /\b(WARN|ERROR)\b/.test(line));
    const about = warnings.filter((line) => !notAboutTheDocument.some((known) => known.test(line)));
    assert.deepEqual(about, [], 'The generator warns of the document.');
  };

  await step('Get the document', () => run(undefined));
  await check('TypeScript: the client is generated', () => run('TypeScript').then(() => {}));
  await check('TypeScript: it compiles in strict mode, and forbidden parameters do not', () =>
    execa('npx', ['tsc', '--project', '.'], { cwd: folder }).then(() => {}),
  );
  await check('TypeScript: the example calls the five endpoints', async () => {
    const printed = await run('Use the TypeScript client', tryIt(service.demo));
    assert.match(
      printed,
      /^Same device: true\nToken by code: bearer\nreview rejected\n404 \{\s*error: 'not_found'/m,
    );
  });
  await check('TypeScript: a bundler takes it', async () => {
    const entryPoints = [join(folder, 'example.mts')];
    await build({ entryPoints, bundle: true, format: 'esm', write: false, logLevel: 'error' });
  });

  const { backend, address } = await step('Start the backend of the quickstarts', () =>
    startBackend(folder, service),
  );
  cleanUps.defer(() => void backend.kill());
  await check('The backend of the quickstarts says what is wrong with a request', () =>
    sendFaults(address),
  );
  const publicClient = await newPublicClientOfPhone(service);
  const sources = Object.entries({ 'with a server': address, 'without a server': publicClient });
  const tsx = join(folder, 'node_modules/.bin/tsx');
  for (const [by, source] of sources) {
    await check(`React Native, ${by}: logs in, refreshes once, relates its device, steps up`, () =>
      usePhone(running, service, source, [tsx, join(folder, 'phone-of-quickstart.ts')]),
    );
  }
  await check(
    'TypeScript, without a server: the reference does it all, with WebCrypto',
    async () => {
      const [printed, promised] = await runReference(service, running.directory);
      assert.equal(printed, promised);
    },
  );

  const built = join(folder, 'kotlin-build');
  const classPath = `${join(built, 'classes')}:${join(built, 'libraries', '*')}`;
  await check('Kotlin: the client is generated without a warning', () => generate('Kotlin'));
  await check('Kotlin: it compiles', () => {
    const places = [
      `-Dclient=${join(folder, 'kotlin-client')}`,
      `-Dexample=${example}`,
      `-Dbuild=${built}`,
    ];
    const pom = join(here, 'kotlin/pom.xml');
    const goal = ['compile', '-Dkotlin.compiler.daemon=false', ...places];
    return execa('mvn', ['--quiet', '--batch-mode', '--file', pom, ...goal]).then(() => {});
  });
  await check('Kotlin: it logs in, registers a device and relates it', async () => {
    const { id_token = '' } = await service.credentials('provider_f', { subject: unique('alice') });
    const values = [base_url, login_app.client_id, login_app.client_secret, id_token];
    const { stdout } = await execa('java', ['-classpath', classPath, 'PhoneKt', ...values]);
    assert.match(stdout, /^d_[\w-]{43}$/);
  });
  for (const [by, source] of sources) {
    await check(`Kotlin, ${by}: logs in, refreshes once, relates its device, steps up`, () =>
      usePhone(running, service, source, ['java', '-classpath', classPath, 'PhoneOfQuickstartKt']),
    );
  }

  await check('Swift: the client is generated without a warning', () => generate('Swift'));
  if (await hasXcode()) {
    await check('Swift: the quickstart compiles', compileSwift);
  }

  writeFileSync(join(folder, 'short_lived.py'), blockOf('OAuth libraries', 'python'));
  const key = await newClientKey();
  const withKey = {
    client_id: await secretlessClients(service).createWithKeys([key]),
    private_jwk: await exportJWK(key.privateKey),
  };
  const judgement = async (more: object, command: string, ...words: string[]): Promise<unknown> => {
    const { id_token } = await service.credentials('provider_f', { subject: unique('alice') });
    const { client_id, client_secret } = login_app;
    const input = JSON.stringify({ base_url, client_id, client_secret, id_token, ...more });
    const { stdout } = await execa(command, [...words, input], {
      cwd: folder,
      env: { PYTHONPATH: folder },
    });
    return JSON.parse(stdout);
  };
  const expected = {
    token_use: 'login_user',
    active: [true, false],
    revoked: 'invalid_grant',
    unknown_grant: 'unsupported_grant_type',
  };
  for (const [by, more] of Object.entries({ 'a secret': {}, 'a key': withKey })) {
    await check(
      `openid-client, by ${by}: logs in, refreshes, introspects and revokes`,
      async () => {
        const challenges = { wrong_secret: 'basic', secret_in_body: 'basic' };
        const judged = await judgement(more, 'npx', 'tsx', 'judge-openid-client.ts');
        assert.deepEqual(judged, { ...expected, ...challenges });
      },
    );
    await check(`Authlib, by ${by}: logs in, refreshes, introspects and revokes`, async () => {
      const errors = { wrong_secret: 'invalid_client', secret_in_body: 'invalid_client' };
      // There is no authorization endpoint; docs/clients.md says so.
      const metadata = ['"response_types_supported" is required'];
      const judge = join(here, 'python/judge_authlib.py');
      const judged = await judgement(more, join(commands, 'python'), '-B', judge);
      assert.deepEqual(judged, { ...expected, ...errors, metadata });
    });
  }
  const server = await createClient(service, login_app.login_app_id, byToken);
  const newSubjectToken = async (): Promise<string> => {
    const form = await service.loginForm('provider_b', {}, 'provider_authorization_code');
    return (await service.token(form)).body.access_token;
  };
  const judges = {
    'openid-client': ['npx', 'tsx', 'judge-openid-client.ts'],
    Authlib: [join(commands, 'python'), '-B', join(here, 'python/judge_authlib.py')],
  };
  for (const [library, [command = '', ...words]] of Object.entries(judges)) {
    await check(`${library}: exchanges a token for one of the provider`, async () => {
      const more = { ...server, subject_token: await newSubjectToken() };
      assert.deepEqual(await judgement(more, command, ...words), {
        told: ['expires_in', 'issued_token_type', 'scope', 'token_type'],
        token_type: 'bearer',
        is_offered: true,
        is_token: true,
        wrong_subject: 'invalid_request',
      });
    });
  }
  await check("Google's own client reads a calendar with an exchanged token", async () => {
    const page = 'provider-tokens.md';
    const heading = "Google: read somebody's calendar";
    const calendar = localDirectory('clients', 'calendar');
    writeFileSync(join(calendar, 'calendar.mts'), codeBlock(page, 'ts', heading));
    const env = {
      ...asTested,
      PATH: PATH?.join(delimiter),
      BASE: base_url,
      SERVER: `${server.client_id}:${server.client_secret}`,
      LOGIN_USER_TOKEN: await newSubjectToken(),
      GOOGLE_URL: `${service.demo.sandbox_url}/`,
    };
    const input = codeBlock(page, 'sh', heading);
    const { stdout } = await execa('bash', ['-e'], { cwd: calendar, input, env });
    assert.match(stdout, /^2026-02-02T09:00:00Z Breakfast with person-/m);
  });
  await check(
    'openid-client, as a public client by DPoP: logs in, refreshes and revokes with a wrong clock',
    async () => {
      const phone = await newPhone(service, await newPublicClient(service));
      const form = { client_id: phone.client_id, ...(await phone.loginForm()) };
      const judged = await judgement(form, 'npx', 'tsx', 'judge-openid-client.ts');
      const revoked = 'invalid_grant';
      assert.deepEqual(judged, {
        token_type: 'bearer',
        by_another_key: 'invalid_dpop_proof',
        revoked,
      });
    },
  );
  conclude();
});
