import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { readFunctions } from '../../infra/endpoints.ts';
import { type AwsEndpoint, invokeFunction, localAws } from '../../infra/invoke-function.ts';
import { secretIds } from '../../infra/local/load-functions.ts';
import { localDirectory } from '../../infra/local/local-directories.ts';
import { proveIdentity } from '../../infra/prove-identity.ts';
import { countedChecks } from '../support/counted-checks.ts';
import { requireTools, tools } from '../support/needed-tools.ts';
import { newRealValues } from '../support/real-values.ts';
import { type Service, serviceOf } from '../support/service.ts';
import { startService } from '../support/start-service.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { awsEndpointOf } from '../support/stolen-signing-keys.ts';
import { answerOfFunction, answerOverHttp, withoutRandomness } from './answers.ts';
import { installRuntimeInterfaceClient } from './aws-lambda-ric.ts';
import { containerTools, hostLoopback, installSam, packImage, startSamLocal } from './container/sam-local.ts';
import { eventOf, eventWithoutRoute, filledIn, keysWithoutRoute, requestOf } from './event-files.ts';
import { type LambdaRuntime, startLambdaRuntime } from './lambda-runtime.ts';
import { environmentOf, functionOf, synthesize } from './synthesized-functions.ts';

/**
 * Feeds the committed event files to the bundles that the CDK has built, behind Lambda's own runtime interface
 * client, and compares what they answer with what the service on this machine answers to the same requests. With
 * `--container` it does so through `sam local invoke` as well.
 */
runCheck(async (cleanUps) => {
  const withContainer = process.argv.includes('--container');
  const { autoconf, automake, libtool, m4, cmake, make, cpp } = tools;
  const toolchain = [autoconf, automake, libtool, m4, cmake, make, cpp];
  await requireTools(withContainer ? [...toolchain, ...containerTools] : toolchain);
  const directory = localDirectory('sam');
  const client = await step('Install the Lambda runtime interface client', installRuntimeInterfaceClient);
  const assembly = await step('cdk synth', () => synthesize(join(directory, 'cdk.out')));
  const running = await step('Start the service on this machine', () => startService());
  cleanUps.defer(() => running.stop().then(() => {}));
  const service = serviceOf(running.demo, running.directory);
  const awsEndpoint = awsEndpointOf(running);
  const tasks = cleanUps.adopt(mkdtempSync(join(tmpdir(), 'functions-')), (folder) =>
    rmSync(folder, { recursive: true, force: true }),
  );

  const environmentFor = (key: string): Record<string, string> => {
    const references = {
      TABLE_NAME: service.demo.table_name,
      ISSUER: service.demo.base_url,
      SIGNING_KEYS_SECRET_ID: secretIds.signingKeys,
      REFRESH_TOKENS_SECRET_ID: secretIds.refreshTokens,
      PROVIDER_SETTINGS_SECRET_ID: secretIds.providerSettings,
      AUDIT_LOG_GROUP: 'audit',
      EVENT_BUS_NAME: 'login-service',
      DEAD_LETTER_QUEUE_URL: `${awsEndpoint.url}/dead-letters`,
      SIGNING_KEY_ROTATION_FUNCTION: 'rotate-signing-keys',
    };
    return {
      ...environmentOf(functionOf(assembly, key), references),
      LOOPBACK_PROVIDERS: 'allowed',
      // A key of another algorithm is announced at once; one of the same algorithm waits until verifiers know the last one.
      TOKEN_ALGORITHM: 'ES256',
      AWS_ENDPOINT_URL_DYNAMODB: service.demo.dynamodb_endpoint,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: awsEndpoint.url,
      AWS_ENDPOINT_URL_STS: awsEndpoint.url,
      AWS_ENDPOINT_URL_EVENTBRIDGE: awsEndpoint.url,
      AWS_ENDPOINT_URL_SQS: awsEndpoint.url,
      AWS_ENDPOINT_URL_LAMBDA: awsEndpoint.url,
      AWS_SECRET_ACCESS_KEY: awsEndpoint.secret_access_key,
    };
  };
  const startRuntime: StartRuntime = (key) =>
    startLambdaRuntime(functionOf(assembly, key), {
      client,
      taskRoot: join(tasks, key),
      name: key,
      environment: environmentFor(key),
      logFile: join(directory, `${key}.log`),
    });

  const { check, conclude } = countedChecks('sam');
  const { endpoints } = await readFunctions();
  const real = async (key: string) => filledIn(eventOf(key), (await newRealValues(service)).values);
  const compareAll = async (start: StartRuntime, withoutRealCredentials: string[] = []): Promise<void> => {
    for (const key of endpoints.keys()) {
      await using runtime = await start(key);
      const committed = eventOf(key);
      await check(`${key}, the event as committed`, () =>
        compareEndpoint(runtime, service, committed, committed),
      );
      if (withoutRealCredentials.includes(key)) continue;
      await check(`${key}, with what is real on this machine`, async () => {
        const told = await compareEndpoint(runtime, service, await real(key), await real(key));
        assert.match(told, /^2/, `${told}: not a success`);
        return told;
      });
    }
    for (const key of keysWithoutRoute()) {
      await using runtime = await start(key);
      await check(`${key}, the event as committed`, () => compareFunction(runtime, awsEndpoint, key));
    }
  };

  await step('Compare the answers', () => compareAll(startRuntime));
  if (withContainer) {
    const sam = await step('Install the SAM command line', installSam);
    const image = await step('Pack a container image', () => packImage(client));
    const local = cleanUps.use(await step('Start podman', () => startSamLocal(sam, image, assembly)));
    const inContainer: StartRuntime = async (key) => ({
      invoke: (event) => local.invoke(key, event, seenFromContainer(environmentFor(key))),
      [Symbol.asyncDispose]: async () => {},
    });
    // The providers' addresses are of this machine's loopback interface, which is not the container's.
    await step('Compare the answers of sam local invoke', () => compareAll(inContainer, ['issue-token']));
  } else {
    print('\nSkipped: sam local invoke. npm run test:sam -- --container runs it, with podman.');
  }
  conclude();
});

type StartRuntime = (key: string) => Promise<LambdaRuntime>;

/** The endpoints of AWS as a container reaches them. */
const seenFromContainer = (environment: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      name.startsWith('AWS_ENDPOINT_URL') ? value.replace('127.0.0.1', hostLoopback) : value,
    ]),
  );

/** Hands an event to the function and the request of another to the service; the status that both answer with. */
async function compareEndpoint(
  runtime: LambdaRuntime,
  service: Service,
  event: APIGatewayProxyEventV2,
  sameEvent: APIGatewayProxyEventV2,
): Promise<string> {
  const { path, init } = requestOf(sameEvent);
  const answer = answerOfFunction(await runtime.invoke(event));
  assert.deepEqual(answer, answerOverHttp(await service.call(path, init)));
  return String(answer.status);
}

/** Who operates, as the committed event of the operator function has to prove it. */
const proofOf = (endpoint: AwsEndpoint, { noun, verb, flags }: Record<string, unknown>): Promise<string> =>
  proveIdentity(
    { name: 'operator', endpoint },
    { noun: String(noun), verb: String(verb), flags: Object(flags) },
  );

/** Prepares a rotation as its first step would, if it were time for one: here, with the secret as it is. */
async function prepareRotation(
  endpoint: AwsEndpoint,
  SecretId: string,
  ClientRequestToken: string,
): Promise<void> {
  const client = new SecretsManagerClient(localAws(endpoint));
  const { SecretString } = await client.send(new GetSecretValueCommand({ SecretId }));
  const VersionStages = ['AWSPENDING'];
  await client.send(new PutSecretValueCommand({ SecretId, ClientRequestToken, SecretString, VersionStages }));
}

async function compareFunction(runtime: LambdaRuntime, endpoint: AwsEndpoint, key: string): Promise<string> {
  const committed = eventWithoutRoute(key);
  const event = JSON.parse(
    JSON.stringify(committed)
      .replace('SIGNING_KEYS_SECRET_ID', secretIds.signingKeys)
      .replace('REFRESH_TOKENS_SECRET_ID', secretIds.refreshTokens)
      .replace('PROOF', await proofOf(endpoint, committed)),
  );
  if (event.Step === 'setSecret') await prepareRotation(endpoint, event.SecretId, event.ClientRequestToken);
  const result = withoutRandomness(await runtime.invoke(event));
  assert.deepEqual(result ?? null, withoutRandomness(await invokeFunction({ name: key, endpoint }, event)));
  return JSON.stringify(result);
}
