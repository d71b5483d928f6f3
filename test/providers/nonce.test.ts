import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { createLoginApp } from '../support/login-app.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { sharedService, unique } from '../support/service.ts';

const sha256 = (text: string, encoding: 'hex' | 'base64url' | 'base64'): string =>
  createHash('sha256').update(text).digest(encoding);

const service = sharedService();
const standIn = await startProviderStandIn();
const { credentials, token } = service;
const nonce = 'n-0S6_WzA2Mj';

const idToken = async (query: Record<string, string> = {}): Promise<string> =>
  (await credentials('provider_f', { subject: unique('alice'), ...query })).id_token ?? '';

const form = (id_token: string) => ({ grant_type: 'provider_credentials', provider: 'provider_f', id_token });

describe('provider_f, the parameter nonce', () => {
  test.each<[string, Record<string, string>]>([
    ['another nonce', { nonce: 'another' }],
    ["another nonce's hash", { nonce: sha256('another', 'hex') }],
    ['none', {}],
    ['a number', { claims: '{"nonce":7}' }],
  ])('the id token has %s: 400 invalid_grant', async (_, query) => {
    const answer = await token({ ...form(await idToken(query)), nonce });
    expectError(answer, { status: 400, error: 'invalid_grant' });
  });

  test('left out, though the id token has one, as SDKs add one on their own: 200', async () => {
    expectAnswer(await token(form(await idToken({ nonce }))), 200, tokenResponse);
  });

  describe.each<[string, { plain: number; hash: number; hashItself: number }]>([
    ['plain', { plain: 200, hash: 400, hashItself: 200 }],
    ['sha256', { plain: 400, hash: 200, hashItself: 400 }],
    ['either', { plain: 200, hash: 200, hashItself: 200 }],
  ])('of an issuer whose nonce_form is %s', (nonce_form, statuses) => {
    test.each(['hex', 'base64url'] as const)(
      'counts in that form alone, with the hash in %s',
      async (encoding) => {
        const { app, scene } = await newIssuerLogin(service, standIn, { nonce_form });
        const hash = sha256(nonce, encoding);
        const sent = async (claim: string, value: string) =>
          (await token({ ...form(await scene.idToken({ nonce: claim })), nonce: value }, app)).status;
        const [plain, hashed] = [await sent(nonce, nonce), await sent(hash, nonce)];
        expect({ plain, hash: hashed, hashItself: await sent(hash, hash) }).toEqual(statuses);
      },
    );
  });

  describe('of an issuer that requires it', () => {
    test('left out: 400 naming it; else it must be that of the id token', async () => {
      const scene = standIn.openScene();
      const app = await createLoginApp(service, unique('app'));
      await service.setProvider(app, 'provider_f', {
        issuers: [{ issuer: scene.url, audiences: [ourApp], nonce: 'required' }],
      });
      const id_token = await scene.idToken({ nonce });
      expectError(await token(form(id_token), app), {
        status: 400,
        error: 'invalid_request',
        naming: 'The parameter nonce is required for this issuer.',
      });
      const invalidGrant = { status: 400, error: 'invalid_grant' };
      expectError(await token({ ...form(id_token), nonce: 'another' }, app), invalidGrant);
      expectError(await token({ ...form(await scene.idToken()), nonce }, app), invalidGrant);
      expectAnswer(await token({ ...form(id_token), nonce }, app), 200, tokenResponse);
    });
  });
});
