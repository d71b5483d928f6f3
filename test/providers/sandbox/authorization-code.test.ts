import { describe, expect, test } from '@jest/globals';
import * as oauth from 'oauth4webapi';
import * as v from 'valibot';
import { getJson, introspectionSettings, ownSandbox, readJson } from '../../support/sandbox.ts';

const codeSettings = v.object({
  authorization_code: v.strictObject({
    token_url: v.string(),
    client_id: v.string(),
    client_secret: v.string(),
    redirect_uri: v.literal('https://app.example/callback'),
  }),
});
const tokenResponse = v.object({ access_token: v.string(), token_type: v.literal('Bearer') });

const { sandbox, credentials } = ownSandbox();

describe('provider_b', () => {
  const settings = () => v.parse(codeSettings, sandbox().settings.provider_b).authorization_code;
  const userInfoUrl = () => v.parse(introspectionSettings, sandbox().settings.provider_b).user_info.url;

  function exchange(
    code: string,
    { secret = settings().client_secret, uri = 'https://app.example/callback' } = {},
  ) {
    const server = { issuer: `${sandbox().url}/provider_b`, token_endpoint: settings().token_url };
    const parameters = { code, redirect_uri: uri };
    return oauth.genericTokenEndpointRequest(
      server,
      { client_id: settings().client_id },
      oauth.ClientSecretBasic(secret),
      'authorization_code',
      parameters,
      { [oauth.allowInsecureRequests]: true },
    );
  }

  async function refusal(response: Response) {
    return [response.status, (await readJson(response)).error];
  }

  test('exchanges a code once; a replay also ends the token that it gave', async () => {
    const { authorization_code: code = '', access_token: other = '' } = await credentials(
      'provider_b',
      'bob',
    );
    const first = await exchange(code);
    expect(first.status).toBe(200);
    const { access_token: token } = v.parse(tokenResponse, await first.json());
    expect((await getJson(userInfoUrl(), token)).body).toEqual({ sub: 'bob' });

    expect(await refusal(await exchange(code))).toEqual([400, 'invalid_grant']);
    expect((await getJson(userInfoUrl(), token)).status).toBe(401);
    expect((await getJson(userInfoUrl(), other)).status).toBe(200);
  });

  test('gives a token to only one of eight exchanges at once', async () => {
    const { authorization_code: code = '' } = await credentials('provider_b', 'bob');
    const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(400)]);
  });

  test('refuses a wrong secret, redirect URI or made-up code', async () => {
    const { authorization_code: code = '' } = await credentials('provider_b', 'bob');
    expect(await refusal(await exchange(code, { secret: 'wrong' }))).toEqual([401, 'invalid_client']);
    const elsewhere = { uri: 'https://app.example/elsewhere' };
    expect(await refusal(await exchange(code, elsewhere))).toEqual([400, 'invalid_grant']);
    expect(await refusal(await exchange('made-up'))).toEqual([400, 'invalid_grant']);
  });

  test.each([{ expired: 'true' }, { audience: 'another-app' }])('refuses a code with %j', async (more) => {
    const { authorization_code: code = '' } = await credentials('provider_b', 'bob', more);
    expect(await refusal(await exchange(code))).toEqual([400, 'invalid_grant']);
  });
});
