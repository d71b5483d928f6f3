import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { accountOf } from '../support/account.ts';
import { expectError } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import { ourApp, sendJson, startProviderStandIn } from '../support/provider-stand-in.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();
const redirect_uris = ['https://app.example/first', 'https://app.example/second'];

/** Somebody who links by codes of provider_b, whose id tokens have the nonce `our-nonce`. */
async function newLinker() {
  const scene = standIn.openScene();
  const exchanges: URLSearchParams[] = [];
  const subject = unique('bob');
  scene.misbehave('token', async (request, response) => {
    exchanges.push(new URLSearchParams(await text(request)));
    sendJson(response, 200, { id_token: await scene.idToken({ sub: subject, nonce: 'our-nonce' }) });
  });
  const app = await createLoginApp(service, unique('app'), { providers: ['provider_f'] });
  const settings = {
    authorization_code: {
      token_url: `${scene.url}/token`,
      client_id: ourApp,
      client_secret: 'our-secret',
      id_token: { issuer: scene.url },
      redirect_uris,
    },
  };
  await service.setProvider(app, 'provider_b', settings);
  const { body } = await service.logIn(unique('alice'), 'provider_f', app);
  const account = accountOf(service, body.access_token);
  const link = (more: Record<string, string>) =>
    account.link({ provider: 'provider_b', authorization_code: 'a-code', ...more });
  return { link, exchanges };
}

describe('linking by an authorization code', () => {
  test('sends the code_verifier to the provider', async () => {
    const { link, exchanges } = await newLinker();
    const code_verifier = 'v'.repeat(43);
    expect((await link({ code_verifier })).status).toBe(201);
    expect(exchanges.map((form) => form.get('code_verifier'))).toEqual([code_verifier]);
  });

  test('takes a redirect_uri of the settings, and no other', async () => {
    const { link, exchanges } = await newLinker();
    const naming = 'The redirect_uri must be one of those in the provider settings.';
    const error = { status: 400, error: 'invalid_request', naming };
    expectError(await link({ redirect_uri: 'https://evil.example' }), error);
    const [, redirect_uri = ''] = redirect_uris;
    expect((await link({ redirect_uri })).status).toBe(201);
    expect(exchanges.map((form) => form.get('redirect_uri'))).toEqual([redirect_uri]);
  });

  test('takes the nonce of the id token, and no other', async () => {
    const { link } = await newLinker();
    expectError(await link({ nonce: 'another' }), { status: 400, error: 'invalid_grant' });
    expect((await link({ nonce: 'our-nonce' })).status).toBe(201);
  });
});
