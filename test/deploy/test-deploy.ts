import assert from 'node:assert/strict';
import { mkdtempDisposableSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { execa } from 'execa';
import { decodeProtectedHeader } from 'jose';
import { readFunctions } from '../../infra/endpoints.ts';
import { reviveDemo, seedDemo } from '../../infra/local/demo.ts';
import { localDynamoDb } from '../../infra/local/dynamodb.ts';
import { localDirectory } from '../../infra/local/local-files.ts';
import { type Sandbox, startSandbox } from '../../infra/local/sandbox/sandbox.ts';
import { callOperator } from '../../infra/operator/call/call-operator.ts';
import { version } from '../../infra/version.ts';
import { runJest } from '../support/commands.ts';
import { eventOf, filledIn, requestOf } from '../support/event-files.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { newRealValues } from '../support/real-values.ts';
import { type Service, serviceOf, unique } from '../support/service.ts';
import { noFailure, steadyTraffic } from '../support/steady-traffic.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { checkOut } from '../upgrade/checkout.ts';
import { unknownTo } from '../upgrade/later.ts';
import { oldestRelease } from '../upgrade/releases.ts';
import { createFromTemplates } from './created-from-templates.ts';
import {
  bootstrap,
  type Cloud,
  cloudEnvironment,
  deploy,
  destroy,
  physicalIdsOf,
  rotateSecrets,
  stateOf,
} from './deployed-stack.ts';
import { startFront } from './front.ts';
import { findData, findNothing, leaveData } from './lasting-data.ts';
import { installMiniStack, startMiniStack } from './ministack.ts';
import { findApproval } from './published-events.ts';
import { restoreTable } from './restored-table.ts';

const stack = 'login-service-test';

/** The sandbox with the settings that the release knows. */
function asReleased({ url, settings }: Sandbox): Pick<Sandbox, 'url' | 'settings'> {
  const later = unknownTo(oldestRelease).settings;
  const text = JSON.stringify(settings, (name, value) =>
    later.includes(name) ? undefined : value,
  );
  return { url, settings: JSON.parse(text) };
}

/**
 * As in production, but for the providers on this machine, which production does not allow, and
 * CodeDeploy, which MiniStack lacks.
 */
const settings = {
  stack,
  stage: 'development',
  removalPolicy: 'retain',
  canary: 'false',
  loopbackProviders: 'true',
};

/**
 * Deploys today's code over the oldest release on MiniStack, calls each endpoint, restores the table,
 * and destroys the stack.
 */
runCheck(async (cleanUps) => {
  await requireTools([tools.python, tools.git]);
  rmSync(localDirectory('deploy'), { recursive: true });
  const workDirectory = localDirectory('deploy');
  const releasedCode = await checkOut(oldestRelease.commit);
  const commands = await step('Install MiniStack', installMiniStack);
  const functions = cleanUps.use(mkdtempDisposableSync(join(tmpdir(), 'ministack-'))).path;
  const ministack = cleanUps.use(
    await step('Start it', () =>
      startMiniStack(commands, join(workDirectory, 'ministack.log'), functions),
    ),
  );
  const cloud: Cloud = { endpoint: ministack.endpoint, workDirectory };
  print(`    ${cloud.endpoint}`);
  const awsEndpoint = { url: cloud.endpoint, secret_access_key: 'test' };
  const front = cleanUps.adopt(await startFront(cloud.endpoint), (server) => server.close());
  const sandbox = cleanUps.adopt(await startSandbox(), (server) => server.close());

  /** The front is the service's address, as a domain of one's own is. */
  const deployWith = async (changed: Record<string, string>, code = '.') => {
    for (const line of await deploy(cloud, { ...settings, ...changed }, front.url, code))
      print(`    ${line}`);
  };

  await step('cdk bootstrap', () => bootstrap(cloud));
  await step(`cdk deploy, with the code of ${oldestRelease.version}`, () =>
    deployWith({}, releasedCode),
  );
  // Under these logical ids, which a test of the stack keeps as they are.
  const physicalId = await physicalIdsOf(cloud, stack);
  const tableName = physicalId('TableCD117FA1');
  front.leadTo(physicalId('ApiHttp17514DA7'));

  await step("Rotate the secrets through the deployed functions, in Secrets Manager's place", () =>
    rotateSecrets(awsEndpoint, physicalId),
  );

  const operator = { name: `${stack}-operator`, endpoint: awsEndpoint };
  const addresses = {
    base_url: front.url,
    sandbox_url: sandbox.url,
    dynamodb_endpoint: cloud.endpoint,
    table_name: tableName,
  };
  const demoStack = { addresses, sandbox, operator };
  const demo = await step('Seed the demo through the deployed operator function', () =>
    seedDemo({ ...demoStack, sandbox: asReleased(sandbox) }),
  );
  const serviceDirectory = localDirectory('deploy', 'service');
  writeFileSync(join(serviceDirectory, 'demo.json'), JSON.stringify(demo));
  writeFileSync(
    join(serviceDirectory, 'stack.json'),
    JSON.stringify({ aws_endpoint: operator.endpoint, operator_function: operator.name }),
  );

  const service = serviceOf(demo, serviceDirectory);
  const released = await step('Log in, register a device, and note what there is', () =>
    leaveData(service),
  );
  await step("Deploy today's code over it, while people log in, refresh and search", () =>
    withTraffic(service, () => deployWith({})),
  );
  await step('What there was is there', () => findData(service, released, 3600));
  await step('Set what the release did not know', () => reviveDemo(demoStack, demo));

  await step(`npm run operator -- accounts create … --stack ${stack}`, () =>
    operateByCommandLine(cloud),
  );
  await step('Call every endpoint', () => callEveryEndpoint(service));
  await step('Run tests of headers, bodies and metadata against the deployed API', () =>
    runJest(aboutRequests, { SERVICE_DIR: serviceDirectory }),
  );

  await step(
    "Find an approval in a queue, through the table's stream and a rule of the event bus",
    () => findApproval(service, cloud.endpoint, stack),
  );
  await step(
    "A table that doesn't belong to the stack is rejected, and nothing is changed",
    async () => {
      await assert.rejects(
        deployWith({ tableName: 'another', publishEvents: 'false' }),
        /another tableName/,
      );
      await checkDeployed(cloud);
    },
  );
  const before = await step('Log in, register a device, and note what there is', () =>
    leaveData(service),
  );
  const restored = await step('Restore the table with the commands of docs/maintenance.md', () =>
    restoreTable(cloud, stack, commands),
  );
  const after = await step('Log in and register a device in the old table', () =>
    leaveData(service),
  );
  await step('Deploy with the restored table', () =>
    deployWith({ ...restored, change: 'tableName' }),
  );
  await step('What was restored is there, and nothing that came later', async () => {
    await findData(service, before, 3600);
    await findNothing(service, after);
  });
  await step("Find an approval through the restored table's stream", () =>
    findApproval(service, cloud.endpoint, stack),
  );
  const left = await step('Log in and register a device in the restored table', () =>
    leaveData(service),
  );
  await step('Deploy a changed stack over it', () =>
    deployWith({ ...restored, accessTokenSeconds: '1800' }),
  );
  await step('It issues tokens as changed, and what there was is there', () =>
    findData(service, left, 1800),
  );

  await step('Take that release back, and forth again', () => moveRelease(cloud, service));
  await step('Take it back, and deploy a fix: not with a canary, but without one', () =>
    fixRelease(cloud, service, (more) =>
      deployWith({ ...restored, accessTokenSeconds: '900', ...more }),
    ),
  );

  await step(
    'The deployed operator function has the signing key revoked, and another one signs',
    async () => {
      const kid = String(decodeProtectedHeader(left.accessToken).kid);
      const { signing_kid } = await callOperator(operator, 'signing-keys revoke', { kid });
      assert.match(String(signing_kid), /^k_/);
      assert.notEqual(signing_kid, kid);
    },
  );

  await step(`npm run operator -- check --stack ${stack}`, () => checkDeployed(cloud));
  await step('cdk destroy', () => destroyStack(cloud));
  await step('The API is gone; both tables and what they hold are not', async () => {
    assert.equal((await fetch(`${front.url}/.well-known/oauth-authorization-server`)).status, 404);
    for (const TableName of [tableName, restored.tableName]) {
      const { Table } = await localDynamoDb(cloud.endpoint).send(
        new DescribeTableCommand({ TableName }),
      );
      assert.ok(Table?.ItemCount);
    }
  });
  await step('Create a stack from the address of its template, and get a token from it', () =>
    createFromTemplates(cloud, cleanUps),
  );
  print('\nThe deployment test has passed.');
});

/** The black-box tests about what a gateway does with requests and answers. */
const aboutRequests = [
  'test/docs/served-api-document.test.ts',
  'test/http/bodies.test.ts',
  'test/tokens/issue-token-client-authentication.test.ts',
  'test/tokens/metadata.test.ts',
];

/**
 * Sends the request of each endpoint's event file, with values of its own, since some end a session
 * or delete a person.
 */
async function callEveryEndpoint(service: Service): Promise<void> {
  for (const key of readFunctions().endpoints.keys()) {
    const { values } = await newRealValues(service);
    const { path, init } = requestOf(filledIn(eventOf(key), values));
    const { status, text } = await service.call(path, init);
    assert.ok(status < 300, `${key}: ${status} ${text}`);
  }
}

/** Each person's pause before a search. */
const secondsBetweenRounds = 2;

/**
 * Deploys while people use the service. No request may fail, and their sessions and devices must
 * last.
 */
async function withTraffic(service: Service, deployment: () => Promise<void>): Promise<void> {
  const traffic = steadyTraffic({
    ...service,
    // Leaves the emulator time for the deployment.
    search: async () => {
      await wait(secondsBetweenRounds * 1000);
      return service.search();
    },
  });
  await traffic.round();
  await deployment();
  await traffic.round();
  await traffic.stop();
  print(`    ${JSON.stringify(traffic.statuses)}`);
  assert.deepEqual(Object.keys(traffic.statuses).toSorted(), noFailure);
  for (const token of traffic.tokens.filter((_, index) => index % 10 === 0)) {
    const { status, body } = await service.listDevices(token);
    assert.deepEqual([status, body.devices?.length], [200, 1]);
  }
}

/**
 * The command line finds a deployed stack by its name, and AWS by the environment, as for a person.
 */
async function commandLine(cloud: Cloud, ...words: string[]): Promise<ReturnType<typeof Object>> {
  const operator = ['run', '--silent', 'operator', '--', ...words, '--stack', stack];
  const { stdout } = await execa('npm', operator, {
    env: cloudEnvironment(cloud),
    stderr: 'inherit',
  });
  return JSON.parse(stdout);
}

async function operateByCommandLine(cloud: Cloud): Promise<void> {
  const created = await commandLine(cloud, 'accounts', 'create', '--name', 'Back office');
  const { account_id, account_secret } = created;
  assert.match(account_id, /^ac_/);
  assert.equal(typeof account_secret, 'string');
  print(`    made the account ${account_id}`);
}

/**
 * Tries the deployment out, as after any deployment.
 * @throws Error with what is wrong
 */
async function checkDeployed(cloud: Cloud): Promise<void> {
  const { version: deployed, steps, problems } = await commandLine(cloud, 'check');
  assert.deepEqual({ deployed, problems }, { deployed: version, problems: [] });
  for (const { step: name, status, milliseconds } of steps)
    print(`    ${name}: ${status}, ${milliseconds} ms`);
}

/** Seconds for which a new token lasts, which says which version is live. */
const lifetimeIn = async (service: Service): Promise<number> =>
  (await service.logIn(unique('carol'))).body.expires_in;

/** The versions before gave tokens another lifetime than those that were deployed last. */
async function moveRelease(cloud: Cloud, service: Service): Promise<void> {
  const lifetime = () => lifetimeIn(service);
  const { functions } = await commandLine(cloud, 'release', 'back', '--yes');
  assert.equal(await lifetime(), 3600);
  const shown = await commandLine(cloud, 'release', 'show');
  const versions = Object.fromEntries(
    shown.functions.map((row: ReturnType<typeof Object>) => [
      row.function,
      [row.deployed_version, row.version],
    ]),
  );
  const moved = functions.map(({ function: key, from, to }: ReturnType<typeof Object>) => [
    key,
    [from, to],
  ]);
  assert.deepEqual(versions, Object.fromEntries(moved));
  await commandLine(cloud, 'release', 'forward', '--yes');
  assert.equal(await lifetime(), 1800);
  print(`    ${functions.length} functions`);
}

/**
 * After `release back`, only a deployment without a canary goes through: with one, CodeDeploy would
 * fail, and the rollback would make the bad version live.
 * @param deployFix deploys a release with another lifetime of tokens
 */
async function fixRelease(
  cloud: Cloud,
  service: Service,
  deployFix: (more: Record<string, string>) => Promise<void>,
): Promise<void> {
  await commandLine(cloud, 'release', 'back', '--yes');
  await assert.rejects(deployFix({ canary: 'true' }), /release forward --stack/);
  assert.equal(await lifetimeIn(service), 3600);
  await deployFix({});
  assert.equal(await lifetimeIn(service), 900);
}

/** `cdk destroy` may report a failure although the stack is gone; what counts is whether it is. */
async function destroyStack(cloud: Cloud): Promise<void> {
  await destroy(cloud).catch((error: Error) => print(`    ${error.message}`));
  assert.equal(await stateOf(cloud, stack), 'DELETE_COMPLETE');
}
