import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { invokeFunction } from '../../infra/invoke-function.ts';
import { secretIds } from '../../infra/local/load-functions.ts';
import { functionsWithoutRoute } from '../../infra/stack/functions-without-route.ts';
import { routeKeys } from '../../lib/routes.ts';
import { synthesize } from '../support/cloud-assembly.ts';
import { localDirectory } from '../support/local-directories.ts';
import { type Service, serviceOf, unique } from '../support/service.ts';
import { startService } from '../support/start-service.ts';
import { print, runCheck, step } from '../support/steps.ts';
import { answerOfFunction, answerOverHttp, withoutRandomness } from './answers.ts';
import { installRuntimeInterfaceClient } from './aws-lambda-ric.ts';
import { type Credentials, eventOf, eventWithoutRoute, filledIn, requestOf } from './event-files.ts';
import { type LambdaRuntime, startLambdaRuntime } from './lambda-runtime.ts';
import { environmentOf, functionOf } from './synthesized-functions.ts';

/**
 * Feeds the committed event files to the bundles that the CDK has built, behind Lambda's own runtime interface
 * client, and compares what they answer with what the service on this machine answers to the same requests.
 */
runCheck(async (cleanUps) => {
  const directory = localDirectory('sam');
  const client = await step('Install the Lambda runtime interface client', installRuntimeInterfaceClient);
  const assembly = await step('cdk synth', () => synthesize(join(directory, 'cdk.out'), 'login-service'));
  const running = await step('Start the service on this machine', () => startService());
  cleanUps.defer(() => running.stop().then(() => {}));
  const service = serviceOf(running.demo, running.directory);
  const awsEndpoint = String(
    JSON.parse(readFileSync(join(running.directory, 'stack.json'), 'utf8')).aws_endpoint,
  );
  const credentials = await credentialsOf(service);

  const startRuntime = (key: string): Promise<LambdaRuntime> => {
    const synthesized = functionOf(assembly, key);
    const references = {
      TABLE_NAME: service.demo.table_name,
      ISSUER: service.demo.base_url,
      SIGNING_KEYS_SECRET_ID: secretIds.signingKeys,
      SERVICE_SECRET_ID: secretIds.service,
    };
    const environment = {
      ...environmentOf(synthesized, references),
      LOOPBACK_PROVIDERS: 'allowed',
      AWS_ENDPOINT_URL_DYNAMODB: service.demo.dynamodb_endpoint,
      AWS_ENDPOINT_URL_SECRETS_MANAGER: awsEndpoint,
    };
    return startLambdaRuntime(synthesized, {
      client,
      name: key,
      environment,
      logFile: join(directory, `${key}.log`),
    });
  };

  let passed = 0;
  const failures: string[] = [];
  const check = async (name: string, compare: () => Promise<string>): Promise<void> => {
    const startedAt = performance.now();
    try {
      print(`    ok      ${name}: ${await compare()} (${Math.round(performance.now() - startedAt)} ms)`);
      passed += 1;
    } catch (error) {
      failures.push(name);
      print(`    FAILED  ${name}: ${error instanceof Error ? error.message : error}`);
    }
  };

  await step('Compare the answers', async () => {
    for (const key of routeKeys) {
      await using runtime = await startRuntime(key);
      await check(`${key}, the event as committed`, () =>
        compareEndpoint(runtime, service, () => eventOf(key)),
      );
      await check(`${key}, with what is real on this machine`, async () => {
        const told = await compareEndpoint(runtime, service, () =>
          filledIn(eventOf(key), { ...credentials, ...newDevice() }),
        );
        assert.match(told, /^2/, `${told}: not a success`);
        return told;
      });
    }
    for (const key of Object.keys(functionsWithoutRoute)) {
      await using runtime = await startRuntime(key);
      await check(`${key}, the event as committed`, () => compareFunction(runtime, awsEndpoint, key));
    }
  });
  const total = passed + failures.length;
  print(
    `\nTests:       ${failures.length > 0 ? `${failures.length} failed, ` : ''}${passed} passed, ${total} total`,
  );
  assert.deepEqual(failures, [], 'Some answers differ.');
});

/** What the placeholders of the event files stand for. */
async function credentialsOf(service: Service): Promise<Credentials> {
  const { login_app, account, access_request_id } = service.demo;
  const { access_token: providerToken = '' } = await service.credentials('provider_a', { subject: 'alice' });
  // Two sessions, since one of them is revoked.
  const [login, other] = [await service.logIn(unique('alice')), await service.logIn(unique('bob'))];
  const loginAppToken = await service.loginAppToken();
  const device = await service.register({ platform: 'android', token: unique('phone') }, loginAppToken);
  return {
    PROVIDER_ACCESS_TOKEN: providerToken,
    CLIENT_ID: login_app.client_id,
    CLIENT_SECRET: login_app.client_secret,
    ACCOUNT_ID: account.account_id,
    ACCOUNT_SECRET: account.account_secret,
    LOGIN_APP_TOKEN: loginAppToken,
    LOGIN_USER_TOKEN: login.body.access_token,
    ACCESS_TOKEN: other.body.access_token,
    REFRESH_TOKEN: other.body.refresh_token,
    [`d_${'0'.repeat(43)}`]: device.body.id,
    access_request_id: String(access_request_id),
  };
}

/** A device that is known already is another answer: each time there is a new one. */
const newDevice = (): Credentials => ({ ['0'.repeat(64)]: randomBytes(32).toString('hex') });

/** Hands an event to the function and the request of another to the service; the status that both answer with. */
async function compareEndpoint(
  runtime: LambdaRuntime,
  service: Service,
  newEvent: () => APIGatewayProxyEventV2,
): Promise<string> {
  const { path, init } = requestOf(newEvent());
  const answer = answerOfFunction(await runtime.invoke(newEvent()));
  assert.deepEqual(answer, answerOverHttp(await service.call(path, init)));
  return String(answer.status);
}

async function compareFunction(runtime: LambdaRuntime, endpoint: string, key: string): Promise<string> {
  const event = JSON.parse(
    JSON.stringify(eventWithoutRoute(key)).replace('SIGNING_KEYS_SECRET_ID', secretIds.signingKeys),
  );
  const result = withoutRandomness(await runtime.invoke(event));
  assert.deepEqual(result ?? null, withoutRandomness(await invokeFunction({ name: key, endpoint }, event)));
  return JSON.stringify(result);
}
