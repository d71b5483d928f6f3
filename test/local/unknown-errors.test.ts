import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { expectAnswer, expectRefusal, tokenResponse } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import { type Answer, type Service, unique } from '../support/service.ts';
import { type ServiceWithStore, startServiceWithStore } from '../support/store-and-service.ts';
import { hexToken } from '../support/tokens.ts';

let own: ServiceWithStore;
let service: Service;

beforeAll(async () => {
  own = await startServiceWithStore();
  service = own.service;
});

afterAll(() => own.stop());

afterEach(() => {
  own.proxy.hook = () => undefined;
});

/** 500, telling nothing but the request's id. */
function expectUnknownError(answer: Answer): void {
  const requestId = answer.headers.get('x-request-id') ?? 'none';
  const naming = `Something failed on our side. Please quote the request id ${requestId}.`;
  expectRefusal(answer, { status: 500, error: 'internal_server_error', naming });
}

/** The store fails an operation, or all of them. */
const failStore = (failing?: string): void => {
  own.proxy.hook = ({ operation }) => (failing && operation !== failing ? undefined : 'fails before');
};

describe('500 unknown error, when the store fails', () => {
  test.each(['UpdateItem', 'PutItem'])('token: at %s, with nothing handed out', async (operation) => {
    const subject = unique('alice');
    failStore(operation);
    expectUnknownError(await service.logIn(subject, 'provider_d'));
    own.proxy.hook = () => undefined;
    expectAnswer(await service.logIn(subject, 'provider_d'), 200, tokenResponse);
  });

  test('token: when the client cannot be read', async () => {
    const app = await createLoginApp(service, unique('app'));
    failStore();
    expectUnknownError(await service.token({ grant_type: 'client_credentials' }, app));
    own.proxy.hook = () => undefined;
    expect((await service.token({ grant_type: 'client_credentials' }, app)).status).toBe(200);
  });

  test('register, and the next time it works', async () => {
    const token = await service.loginAppToken();
    const device = { platform: 'ios', token: hexToken() };
    failStore();
    expectUnknownError(await service.register(device, token));
    own.proxy.hook = () => undefined;
    expect((await service.register(device, token)).status).toBe(201);
  });

  test.each(['BatchGetItem', 'UpdateItem'])(
    'relate: at %s, and the next time it works',
    async (operation) => {
      const token = (await service.logIn(unique('alice'), 'provider_d')).body.access_token;
      const device = { platform: 'ios', token: hexToken() };
      const { id } = (await service.register(device, await service.loginAppToken())).body;
      failStore(operation);
      expectUnknownError(await service.relate(id, token));
      own.proxy.hook = () => undefined;
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
    own.proxy.hook = () => undefined;
    expect((await service.search('', { path })).status).toBe(200);
  });
});

describe('500 unknown error, when a provider is down or talks nonsense', () => {
  const setFault = async (provider: string, endpoint: string, fault: unknown): Promise<void> => {
    const url = `${service.demo.sandbox_url}/${provider}/fault`;
    const { status } = await fetch(url, { method: 'PUT', body: JSON.stringify({ endpoint, fault }) });
    expect(status).toBe(204);
  };

  const endpoints: [string, string][] = [
    // First, while its keys are not known yet: they are asked for once an hour.
    ['provider_f', 'discovery'],
    ['provider_f', 'jwks'],
    ['provider_a', 'user_info'],
    ['provider_a', 'app_check'],
    ['provider_b', 'user_info'],
    ['provider_b', 'app_check'],
    ['provider_c', 'verify'],
    ['provider_d', 'user_info'],
    ['provider_d', 'app_check'],
    ['provider_e', 'user_info'],
    ['provider_e', 'app_check'],
  ];
  const faults: [string, object][] = [
    ['answers 500', { status: 500 }],
    ['answers 503 with HTML', { status: 503, body: '<html>', headers: { 'content-type': 'text/html' } }],
    ['answers 429', { status: 429, body: '{}' }],
    ['answers 404', { status: 404, body: '{}' }],
    ['answers 200 without a body', { status: 200, body: '' }],
    ['answers 200 with HTML', { status: 200, body: '<html>' }],
    ['answers 200 with an empty object', { status: 200, body: '{}' }],
    ['answers 200 with a list', { status: 200, body: '[]' }],
    ['answers 200 with null', { status: 200, body: 'null' }],
    ['answers with more than 64 KiB', { repeat_body_bytes: 66_000 }],
    ['redirects', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }],
  ];

  describe.each(endpoints)('%s, %s', (provider, endpoint) => {
    // The app check answers "no" there: that is a verdict.
    const isVerdict = (fault: object) =>
      endpoint === 'app_check' && ['provider_d', 'provider_e'].includes(provider) && 'body' in fault;

    test.each(faults)('%s', async (_, fault) => {
      await setFault(provider, endpoint, fault);
      try {
        const answer = await service.logIn(unique('alice'), provider);
        if (isVerdict(fault) && answer.status === 400) {
          expectRefusal(answer, { status: 400, error: 'invalid_grant' });
        } else expectUnknownError(answer);
      } finally {
        await setFault(provider, endpoint, null);
      }
    });
  });

  test('each of them lets people in again afterwards', async () => {
    for (const provider of new Set(endpoints.map(([provider]) => provider))) {
      expectAnswer(await service.logIn(unique('alice'), provider), 200, tokenResponse);
    }
  });

  test.each(faults)('provider_b, token: %s', async (_, fault) => {
    const { authorization_code = '' } = await service.credentials('provider_b', { subject: unique('alice') });
    await setFault('provider_b', 'token', fault);
    const grant_type = 'provider_authorization_code';
    const answer = await service.token({ grant_type, provider: 'provider_b', authorization_code });
    await setFault('provider_b', 'token', null);
    expectUnknownError(answer);
  });

  test('a provider that is slower than 3 s, or drips, is given up', async () => {
    await setFault('provider_c', 'verify', { delay_ms: 60_000 });
    await setFault('provider_d', 'user_info', { drip: true });
    await setFault('provider_a', 'app_check', { drip: true });
    const startedAt = performance.now();
    const slow = ['provider_c', 'provider_d', 'provider_a'];
    const answers = await Promise.all(slow.map((provider) => service.logIn(unique('alice'), provider)));
    for (const answer of answers) expectUnknownError(answer);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
