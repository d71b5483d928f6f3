import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { seedDemo } from '../../infra/local/demo.ts';
import { localDynamoDb } from '../../infra/local/dynamodb.ts';
import { startSandbox } from '../../infra/local/sandbox/sandbox.ts';
import { rotateSigningKeys } from '../../infra/local/stack.ts';
import { synthesize, writeTemplate } from '../support/cloud-assembly.ts';
import { outputOf } from '../support/commands.ts';
import { runJest } from '../support/jest.ts';
import { localDirectory } from '../support/local-directories.ts';
import { blackBoxTests } from '../support/select-tests.ts';
import { serviceOf } from '../support/service.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { adaptToMiniStack, type ChangeEnvironment } from './adapt-to-ministack.ts';
import {
  bootstrap,
  type Cloud,
  cloudEnvironment,
  deploy,
  destroy,
  resourcesOf,
  stateOf,
} from './deployed-stack.ts';
import { type Front, startFront } from './front.ts';
import { findData, leaveData } from './lasting-data.ts';
import { installMiniStack, startMiniStack } from './ministack.ts';

const stack = 'login-service-test';

/** As in production, but for the providers on this machine, which production refuses. */
const settings = {
  stack,
  stage: 'development',
  removalPolicy: 'retain',
  canary: 'true',
  loopbackProviders: 'true',
};

/**
 * Deploys the service to MiniStack with the CDK, runs the black-box tests against what was deployed, deploys a
 * changed stack over it, and destroys it.
 */
runCheck(async (cleanUps) => {
  rmSync(localDirectory('deploy'), { recursive: true });
  const workDirectory = localDirectory('deploy');
  const installation = await step('Install MiniStack', installMiniStack);
  const functions = cleanUps.adopt(mkdtempSync(join(tmpdir(), 'ministack-')), (directory) =>
    rmSync(directory, { recursive: true, force: true }),
  );
  const ministack = cleanUps.use(
    await step('Start it', () =>
      startMiniStack(installation, join(workDirectory, 'ministack.log'), functions),
    ),
  );
  const cloud: Cloud = { endpoint: ministack.endpoint, workDirectory };
  print(`    ${cloud.endpoint}`);
  const front = cleanUps.adopt(await startFront(), (server) => server.close());
  const sandbox = cleanUps.adopt(await startSandbox(), (server) => server.close());

  /** The front is the service's address, as a domain of one's own is. */
  const atTheFront: ChangeEnvironment = (variables) => ({
    ...variables,
    ...('ISSUER' in variables && { ISSUER: front.url }),
  });
  const deployWith = async (name: string, changed: Record<string, string>) => {
    const assembly = await synthesize(join(workDirectory, name), { ...settings, ...changed });
    const { template, left, simplified, rotations } = adaptToMiniStack(assembly.template, atTheFront);
    writeTemplate({ ...assembly, template });
    print(`    Left out, since MiniStack refuses them: ${left.join(', ') || 'nothing'}`);
    print(`    Over one metric, since MiniStack knows no metric math: ${simplified.join(', ') || 'nothing'}`);
    await deploy(cloud, assembly.directory);
    return rotations;
  };

  await step('cdk bootstrap', () => bootstrap(cloud));
  const rotations = await step('cdk synth and cdk deploy', () => deployWith('deployed', {}));
  const resources = await resourcesOf(cloud, stack);
  const tableName = resources.only('AWS::DynamoDB::Table');
  leadToApi(front, cloud, resources.only('AWS::ApiGatewayV2::Api'));

  await step(
    "Rotate the signing keys through the deployed function, in Secrets Manager's place",
    async () => {
      for (const { SecretId, RotationLambdaARN } of rotations) {
        const names = {
          rotation: resources.named(RotationLambdaARN),
          signingKeys: resources.named(SecretId.Ref),
        };
        await rotateSigningKeys(cloud.endpoint, names);
      }
    },
  );

  const operator = { name: `${stack}-operator`, endpoint: cloud.endpoint };
  const demo = await step('Seed the demo through the deployed operator function', () =>
    seedDemo({ url: front.url, sandbox, dynamoDbEndpoint: cloud.endpoint, tableName, operator }),
  );
  const serviceDirectory = localDirectory('deploy', 'service');
  writeFileSync(join(serviceDirectory, 'demo.json'), JSON.stringify(demo));
  writeFileSync(
    join(serviceDirectory, 'stack.json'),
    JSON.stringify({ aws_endpoint: cloud.endpoint, operator_function: operator.name }),
  );

  await step(`npm run operator -- accounts create … --stack ${stack}`, () => operateByCommandLine(cloud));
  await step('Run the black-box tests against the deployed API', () =>
    runJest(blackBoxTests(), { SERVICE_DIR: serviceDirectory }),
  );

  const service = serviceOf(demo, serviceDirectory);
  const left = await step('Log in, register a device, and note what there is', () => leaveData(service));
  await step('Deploy a changed stack over it', () => deployWith('changed', { accessTokenSeconds: '1800' }));
  await step('It issues tokens as changed, and what there was is there', () => findData(service, left, 1800));

  await step('cdk destroy', () => destroyStack(cloud));
  await step('The API is gone; the table and what it holds are not', async () => {
    assert.equal((await fetch(`${front.url}/.well-known/oauth-authorization-server`)).status, 404);
    const { Table } = await localDynamoDb(cloud.endpoint).send(
      new DescribeTableCommand({ TableName: tableName }),
    );
    assert.ok(Table?.ItemCount);
  });
  print('\nThe deployment test has passed.');
});

/** The command line finds a deployed stack by its name, and AWS by the environment, as for a person. */
async function operateByCommandLine(cloud: Cloud): Promise<void> {
  const output = await outputOf(
    // biome-ignore format: one command line
    ['npm', 'run', '--silent', 'operator', '--', 'accounts', 'create', '--name', 'Back office', '--stack', stack],
    { environment: cloudEnvironment(cloud) },
  );
  const { account_id, account_secret } = JSON.parse(output);
  assert.match(account_id, /^ac_/);
  assert.equal(typeof account_secret, 'string');
  print(`    made the account ${account_id}`);
}

/** `cdk destroy` may report a failure although the stack is gone; what counts is whether it is. */
async function destroyStack(cloud: Cloud): Promise<void> {
  await destroy(cloud, join(cloud.workDirectory, 'changed')).catch((error: Error) =>
    print(`    ${error.message}`),
  );
  assert.equal(await stateOf(cloud, stack), 'DELETE_COMPLETE');
}

/** MiniStack tells APIs apart by the first label of the host that is asked. */
function leadToApi(front: Front, { endpoint }: Cloud, apiId: string): void {
  front.leadTo(endpoint, `${apiId}.execute-api.${new URL(endpoint).host.replace('127.0.0.1', 'localhost')}`);
}
