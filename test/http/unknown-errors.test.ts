import type { RequestListener } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import { newPhone } from '../support/people.ts';
import { prepareLogin } from '../support/provider-login.ts';
import { type Scene, startProviderStandIn } from '../support/provider-stand-in.ts';
import { targets } from '../support/provider-targets.ts';
import { type Answer, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { hexToken } from '../support/tokens.ts';

const { service, proxy } = await startServiceWithStore();
const standIn = await startProviderStandIn();

/** 500 with nothing but the request id. */
function expectUnknownError(answer: Answer): void {
  const requestId = answer.headers.get('x-request-id') ?? 'none';
  const naming = `Something failed on our side. Please quote the request id ${requestId}.`;
  expectError(answer, { status: 500, error: 'internal_server_error', naming });
}

/** The store fails an operation, or all of them. */
const failStore = (failing?: string): void => {
  proxy.hook = ({ operation }) => (failing && operation !== failing ? undefined : 'fails before');
};

describe('500 unknown error, when the store fails', () => {
  test.each(['UpdateItem', 'PutItem'])('token: at %s, and no token is issued', async (operation) => {
    const subject = unique('alice');
    failStore(operation);
    expectUnknownError(await service.logIn(subject, 'provider_d'));
    proxy.hook = () => undefined;
    expectAnswer(await service.logIn(subject, 'provider_d'), 200, tokenResponse);
  });

  test('token: when the client cannot be read', async () => {
    const app = await createLoginApp(service, unique('app'));
    failStore();
    expectUnknownError(await service.token({ grant_type: 'client_credentials' }, app));
    proxy.hook = () => undefined;
    expect((await service.token({ grant_type: 'client_credentials' }, app)).status).toBe(200);
  });

  test('register, and the next time it works', async () => {
    const token = await service.loginAppToken();
    const device = { platform: 'ios', token: hexToken() };
    failStore();
    expectUnknownError(await service.register(device, token));
    proxy.hook = () => undefined;
    expect((await service.register(device, token)).status).toBe(201);
  });

  test.each(['BatchGetItem', 'UpdateItem'])(
    'relate: at %s, and the next time it works',
    async (operation) => {
      const token = (await service.logIn(unique('alice'), 'provider_d')).body.access_token;
      const id = await newPhone(service);
      failStore(operation);
      expectUnknownError(await service.relate(id, token));
      proxy.hook = () => undefined;
      expect((await service.relate(id, token)).status).toBe(200);
    },
  );

  test.each([
    ['events', 'GetItem'],
    ['events', 'Query'],
    ['reviews', 'GetItem'],
    ['reviews', 'Query'],
  ])('search %s: at %s, and the next time it works', async (path, operation) => {
    failStore(operation);
    expectUnknownError(await service.search('', { path }));
    proxy.hook = () => undefined;
    expect((await service.search('', { path })).status).toBe(200);
  });
});

describe('500 unknown error, when the identity provider fails', () => {
  const logInWhen = async (misbehave: (scene: Scene) => void, base?: string) => {
    const scene = standIn.openScene();
    const { app, form } = await prepareLogin(service, scene, targets.tokenInfo, base);
    misbehave(scene);
    return service.token(form, app);
  };

  const unreachable = {
    ...{ status: 500, error: 'internal_server_error' },
    naming: 'The identity provider could not be reached; try again.',
  };

  test('it refuses the connection: the answer says so', async () => {
    expectError(await logInWhen(() => undefined, 'http://127.0.0.1:1'), unreachable);
  });

  test('it hangs up: the answer says so', async () => {
    const hangUp: RequestListener = ({ socket }) => void socket.destroy();
    expectError(await logInWhen((scene) => scene.misbehave('token_info', hangUp)), unreachable);
  });

  test('it answers with something else: the settings may be wrong, so the log has to say more', async () => {
    expectUnknownError(await logInWhen((scene) => scene.answer('token_info', { status: 200, body: {} })));
  });
});
