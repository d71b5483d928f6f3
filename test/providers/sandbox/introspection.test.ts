import { describe, expect, test } from '@jest/globals';
import * as oauth from 'oauth4webapi';
import * as v from 'valibot';
import { getJson, introspectionSettings, ownSandbox } from '../../support/sandbox.ts';

const { sandbox, credentials } = ownSandbox();

describe.each(['provider_a', 'provider_b'] as const)('%s', (provider) => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const settings = () => v.parse(introspectionSettings, sandbox().settings[provider]);
  const server = (): oauth.AuthorizationServer => ({
    issuer: `${sandbox().url}/${provider}`,
    introspection_endpoint: settings().audience_validation.url,
    userinfo_endpoint: settings().user_info.url,
  });

  async function introspect(token: string, secret = settings().audience_validation.client_secret) {
    const client = { client_id: settings().audience_validation.client_id };
    const basic = oauth.ClientSecretBasic(secret);
    const response = await oauth.introspectionRequest(server(), client, basic, token, insecure);
    return oauth.processIntrospectionResponse(server(), client, response);
  }

  test('tells the subject of an access token, and the app it was issued to', async () => {
    const subject = `ålice 日本 👩‍🚀 ${provider}`;
    const { access_token: token = '' } = await credentials(provider, subject);
    expect(await getJson(settings().user_info.url, token)).toEqual({ status: 200, body: { sub: subject } });
    const [audience] = settings().audience_validation.audiences;
    expect(await introspect(token)).toMatchObject({ active: true, client_id: audience, sub: subject });
  });

  test('refuses introspection to a client with a wrong secret', async () => {
    const { access_token: token = '' } = await credentials(provider, 'alice');
    await expect(introspect(token, 'wrong')).rejects.toMatchObject({ status: 401 });
  });

  test('does not know an expired or made-up token', async () => {
    const { access_token: expired = '' } = await credentials(provider, 'alice', { expired: 'true' });
    for (const token of [expired, 'made-up']) {
      expect((await getJson(settings().user_info.url, token)).status).toBe(401);
      expect(await introspect(token)).toEqual({ active: false });
    }
  });

  test("shows another app's token as active and another app's", async () => {
    const { access_token: token = '' } = await credentials(provider, 'alice', { audience: 'another-app' });
    expect((await getJson(settings().user_info.url, token)).status).toBe(200);
    const answer = await introspect(token);
    expect(answer.active).toBe(true);
    expect(settings().audience_validation.audiences).not.toContain(answer.client_id);
  });
});
