import { describe, expect, test } from '@jest/globals';
import * as v from 'valibot';
import { getJson, ownSandbox, strings, tokenInfoSettings, userInfo } from '../../support/sandbox.ts';

const debugTokenSettings = v.strictObject({
  user_info: userInfo('id'),
  audience_validation: v.strictObject({
    method: v.literal('token_info'),
    url: v.string(),
    token_parameter: v.literal('input_token'),
    app_token_parameter: v.literal('access_token'),
    app_token_secret: v.string(),
    audience_field: v.literal('data.app_id'),
    valid_field: v.literal('data.is_valid'),
    subject_field: v.literal('data.user_id'),
    audiences: strings,
  }),
});

const { sandbox, credentials } = ownSandbox();

describe('provider_d', () => {
  const settings = () => v.parse(tokenInfoSettings, sandbox().settings.provider_d);
  const tokenInfo = (token: string) => getJson(`${settings().audience_validation.url}?access_token=${token}`);

  test('tells the same user id in user info and token info', async () => {
    const { access_token: token = '' } = await credentials('provider_d', 'dörte');
    const { status, body } = await getJson(settings().user_info.url, token);
    expect([status, body]).toEqual([200, { id: expect.stringMatching(/^U[0-9a-f]{32}$/), name: 'dörte' }]);
    const info = await tokenInfo(token);
    expect(info.status).toBe(200);
    expect(info.body).toEqual({
      aud: settings().audience_validation.audiences[0],
      expires_in: expect.any(Number),
      user_id: body.id,
    });

    const { access_token: stranger = '' } = await credentials('provider_d', 'dorte');
    expect((await getJson(settings().user_info.url, stranger)).body.id).not.toBe(body.id);
  });

  test('does not know an expired or made-up token', async () => {
    const { access_token: expired = '' } = await credentials('provider_d', 'dorte', { expired: 'true' });
    for (const token of [expired, 'made-up', '']) {
      expect((await getJson(settings().user_info.url, token)).status).toBe(401);
      expect(await tokenInfo(token)).toEqual({ status: 400, body: { error: 'invalid_token' } });
    }
  });

  test("names another app as the audience of that app's token", async () => {
    const { access_token: token = '' } = await credentials('provider_d', 'dorte', {
      audience: 'another-app',
    });
    const { status, body } = await tokenInfo(token);
    expect(status).toBe(200);
    expect(settings().audience_validation.audiences).not.toContain(body.aud);
  });
});

describe('provider_e', () => {
  const settings = () => v.parse(debugTokenSettings, sandbox().settings.provider_e);
  const debugToken = (token: string, appToken = settings().audience_validation.app_token_secret) =>
    getJson(
      `${settings().audience_validation.url}?${new URLSearchParams({ input_token: token, access_token: appToken })}`,
    );

  test('tells the same user id in user info and token info', async () => {
    const { access_token: token = '' } = await credentials('provider_e', 'emil');
    const { status, body } = await getJson(settings().user_info.url, token);
    expect([status, body]).toEqual([200, { id: expect.stringMatching(/^\d+$/) }]);
    const [audience] = settings().audience_validation.audiences;
    const data = { app_id: audience, is_valid: true, user_id: body.id, expires_at: expect.any(Number) };
    expect(await debugToken(token)).toEqual({ status: 200, body: { data } });
  });

  test('says that an expired or made-up token is not valid', async () => {
    const { access_token: expired = '' } = await credentials('provider_e', 'emil', { expired: 'true' });
    for (const token of [expired, 'made-up']) {
      expect((await getJson(settings().user_info.url, token)).status).toBe(401);
      const data = { is_valid: false, error: { code: 190 } };
      expect(await debugToken(token)).toMatchObject({ status: 200, body: { data } });
    }
  });

  test("names another app for that app's token", async () => {
    const { access_token: token = '' } = await credentials('provider_e', 'emil', { audience: 'another-app' });
    const data = { is_valid: true, app_id: 'provider_e-another-app' };
    expect((await debugToken(token)).body).toMatchObject({ data });
    expect(settings().audience_validation.audiences).not.toContain(data.app_id);
  });

  test('refuses to ask with a wrong app token', async () => {
    const { access_token: token = '' } = await credentials('provider_e', 'emil');
    expect((await debugToken(token, 'provider_e-our-app|wrong')).status).toBe(400);
  });
});
