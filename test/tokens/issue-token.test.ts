import { describe, expect, test } from '@jest/globals';
import { parametersOf } from '../../lib/providers/parameters.ts';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { protocolOf } from '../../lib/providers/providers.ts';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { createLoginApp, demoSettings } from '../support/login-app.ts';
import { asClient, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { call, demo, loginForm, token } = service;
const path = '/v2/marketing/oauth/token';

const invalidRequest = (naming: RegExp | string) => ({
  status: 400,
  error: 'invalid_request',
  naming,
});

async function expectRequired(form: Record<string, string>, name: string): Promise<void> {
  const missing = invalidRequest(`The parameter ${name} is required.`);
  const { [name]: value = '', ...without } = form;
  expectError(await token(without), missing);
  expectError(await token({ ...form, [name]: '' }), missing);
  const repeated = await token([...Object.entries(form), [name, value]]);
  expectError(repeated, invalidRequest(`The parameter ${name} is repeated.`));
}

test('each provider has the protocol and the parameters that the interface gives it', () => {
  const oauth2 = ['OAuth 2.0', ['access_token'], [], ['access_secret', 'id_token', 'nonce']];
  const table = providerIds.map((id) => [
    id,
    [protocolOf(id).title, ...Object.values(parametersOf(id))],
  ]);
  expect(Object.fromEntries(table)).toEqual({
    provider_a: oauth2,
    provider_b: oauth2,
    provider_c: ['OAuth 1.0', ['access_token', 'access_secret'], [], ['id_token', 'nonce']],
    provider_d: oauth2,
    provider_e: oauth2,
    provider_f: [
      'OpenID Connect',
      ['id_token'],
      ['access_token', 'nonce', 'authorization_code', 'code_verifier', 'redirect_uri', 'user'],
      ['access_secret'],
    ],
  });
});

describe('POST /v2/marketing/oauth/token, grant_type provider_credentials', () => {
  test.each(providerIds)('%s: 200 with the token response', async (provider) => {
    expectAnswer(await token(await loginForm(provider)), 200, tokenResponse);
  });

  test('provider_f: an access_token that the id_token does not speak of counts for nothing', async () => {
    const form = { ...(await loginForm('provider_f')), access_token: 'of-some-kind' };
    expectAnswer(await token(form), 200, tokenResponse);
  });

  describe.each(providerIds)('%s', (provider) => {
    const { required, forbidden } = parametersOf(provider);

    const everywhere = provider === 'provider_a' ? ['grant_type', 'provider'] : [];
    test.each([...everywhere, ...required])(
      '%s is required, not empty and not repeated: 400',
      async (name) => {
        await expectRequired(await loginForm(provider), name);
      },
    );

    test.each(forbidden)('%s must not be supplied: 400', async (name) => {
      const form = await loginForm(provider);
      const naming = new RegExp(`^The parameter ${name} must not be supplied for `);
      expectError(await token({ ...form, [name]: 'something' }), invalidRequest(naming));
      expectError(
        await token([...Object.entries(form), [name, 'a'], [name, 'b']]),
        invalidRequest(naming),
      );
    });

    test('parameters without a value count as omitted, also beside one with a value: 200', async () => {
      const form = Object.entries(await loginForm(provider));
      const others =
        'access_secret id_token nonce code_verifier redirect_uri scope of_nobody'.split(' ');
      const names = [...form.map(([name]) => name), ...others];
      const empty = names.map((name): [string, string] => [name, '']);
      expectAnswer(await token([...empty, ...form, ...empty]), 200, tokenResponse);
    });
  });

  test.each(parametersOf('provider_f').optional)('provider_f: a repeated %s: 400', async (name) => {
    const form = await loginForm('provider_f');
    const repeated = await token([...Object.entries(form), [name, 'a'], [name, 'b']]);
    expectError(repeated, invalidRequest(`The parameter ${name} is repeated.`));
  });

  const others = [
    'provider_z',
    'PROVIDER_A',
    'provider_a ',
    'provider_',
    '__proto__',
    'constructor',
  ];
  test.each(others)(
    'the provider %j is invalid: 400, with those that are allowed',
    async (provider) => {
      const answer = await token({ ...(await loginForm('provider_a')), provider });
      expectError(answer, invalidRequest(`The provider must be one of ${providerIds.join(', ')}.`));
    },
  );

  test.each(providerIds)('%s, valid but not set up for this Login App: 400', async (provider) => {
    const app = await createLoginApp(service, unique('bare'));
    expectError(await token(await loginForm(provider), app), invalidRequest(new RegExp(provider)));
  });
});

describe('POST /v2/marketing/oauth/token, grant_type provider_authorization_code', () => {
  const codeForm = () => loginForm('provider_b', {}, 'provider_authorization_code');

  test('provider_b: 200 with the token response', async () => {
    expectAnswer(await token(await codeForm()), 200, tokenResponse);
  });

  test.each(['provider', 'authorization_code'])('%s is required: 400', async (name) => {
    await expectRequired(await codeForm(), name);
  });

  const others = [...providerIds.filter((id) => id !== 'provider_b'), 'x', '__proto__'];
  test.each(others)('only provider_b is supported, not %s: 400', async (provider) => {
    const answer = await token({ ...(await codeForm()), provider });
    expectError(answer, invalidRequest('The provider must be provider_b for this grant.'));
  });

  test('provider_b set up without a code exchange: 400', async () => {
    const app = await createLoginApp(service, unique('no-exchange'));
    const settings = await demoSettings(service, 'provider_d');
    await service.setProvider(app, 'provider_b', settings);
    expectError(await token(await codeForm(), app), invalidRequest(/provider_b/));
  });
});

describe('POST /v2/marketing/oauth/token, a requested scope (RFC 6749, sections 3.3 and 5.1)', () => {
  const { refresh_token: _, refresh_token_expires_in: __, ...loginAppToken } = tokenResponse;
  const logIn = () => loginForm('provider_a');
  const code = () => loginForm('provider_b', {}, 'provider_authorization_code');
  const clientCredentials = async () => ({ grant_type: 'client_credentials' });
  const refresh = async () => ({
    grant_type: 'refresh_token',
    refresh_token: String((await token(await logIn())).body.refresh_token),
  });

  test.each([
    ['provider_credentials', logIn, 'login_user', tokenResponse],
    ['provider_authorization_code', code, 'login_user', tokenResponse],
    ['refresh_token', refresh, 'login_user', tokenResponse],
    ['client_credentials', clientCredentials, 'login_app', loginAppToken],
  ])(
    '%s: the answer names what is granted, if it is something else',
    async (_, form, granted, response) => {
      for (const scope of ['admin', `${granted} openid`]) {
        expectAnswer(await token({ ...(await form()), scope }), 200, {
          ...response,
          scope: granted,
        });
      }
      for (const scope of [granted, '']) {
        expectAnswer(await token({ ...(await form()), scope }), 200, response);
      }
    },
  );

  test('one that is repeated: 400', async () => {
    const form = Object.entries(await clientCredentials());
    const answer = await token([...form, ['scope', 'a'], ['scope', 'b']]);
    expectError(answer, invalidRequest('The parameter scope is repeated.'));
  });
});

describe('POST /v2/marketing/oauth/token, the request', () => {
  test.each([
    'password',
    'authorization_code',
    'Provider_Credentials',
    'provider_credentials ',
    '__proto__',
    'constructor',
    'toString',
    'x'.repeat(20_000),
  ])('the grant_type %.30s is not supported: 400 unsupported_grant_type', async (grant_type) => {
    const answer = await token({ ...(await loginForm('provider_a')), grant_type });
    expectError(answer, {
      status: 400,
      error: 'unsupported_grant_type',
      naming: /provider_credentials/,
    });
  });

  const form = 'application/x-www-form-urlencoded';
  /** Sends these bytes as a client, with this content type. */
  const sendAs = (contentType?: string, body?: string) => {
    const headers = {
      ...asClient(demo.login_app),
      ...(contentType && { 'content-type': contentType }),
    };
    return call(path, {
      method: 'POST',
      headers,
      ...(body && { body: new TextEncoder().encode(body) }),
    });
  };
  const grantType = 'grant_type=client_credentials';

  test('grant_type empty, missing, or without a body: 400', async () => {
    const answers = [await token({ grant_type: '' }), await token([]), await sendAs(form)];
    for (const answer of answers)
      expectError(answer, invalidRequest('The parameter grant_type is required.'));
  });

  const wrongTypes = [
    undefined,
    'application/json',
    'text/plain',
    'multipart/form-data; boundary=x',
  ];
  test.each(wrongTypes)('the content type %s: 400', async (contentType) => {
    const mustBe = invalidRequest(`The content type must be ${form}.`);
    expectError(await sendAs(contentType, grantType), mustBe);
  });

  test('neither a body nor its type: 400', async () => {
    expectError(await sendAs(), invalidRequest(/application\/x-www-form-urlencoded/));
  });

  const typeParameters = [';charset=utf-8', '; charset=utf-8', ' ;\tcharset="utf-8"', ';'];
  test.each(typeParameters)('the content type may have the parameters %j', async (parameters) => {
    expect((await sendAs(`${form}${parameters}`, grantType)).status).toBe(200);
  });

  test('parameters that no grant knows are ignored, whatever their names', async () => {
    const form = await loginForm('provider_d');
    const odd = {
      audience: 'all',
      ['__proto__']: 'x',
      constructor: 'y',
      prototype: 'z',
      toString: 't',
    };
    expectAnswer(await token({ ...form, ...odd, '': '' }), 200, tokenResponse);
    const onlyOdd = await token([
      ['__proto__', 'provider_credentials'],
      ['__proto__[grant_type]', 'client_credentials'],
      ['constructor', 'x'],
    ]);
    expectError(onlyOdd, invalidRequest('The parameter grant_type is required.'));
  });

  test('an answer never repeats what was sent', async () => {
    const secret = unique('very-secret');
    const answers = await Promise.all([
      token({ grant_type: secret }),
      token({ ...(await loginForm('provider_a')), provider: secret }),
      token({ ...(await loginForm('provider_a')), access_token: secret }),
      token({ ...(await loginForm('provider_c')), access_secret: secret }),
      token({ ...(await loginForm('provider_f')), id_token: secret }),
    ]);
    for (const { status, text } of answers) {
      expect(status).toBe(400);
      expect(text).not.toContain(secret);
    }
  });
});
