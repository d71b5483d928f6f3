import { describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import { newPhone } from '../support/people.ts';
import { type Answer, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { hexToken } from '../support/tokens.ts';

const { service, proxy } = await startServiceWithStore();

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
