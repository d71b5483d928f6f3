import { describe, expect, test } from '@jest/globals';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import {
  logIn,
  peopleOf,
  prepareLogin,
  type Target,
  targets,
} from '../support/provider-targets.ts';
import { sharedService } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();

/**
 * A login at which an endpoint answers with this body: what it ends in, and what is in the table
 * afterwards.
 */
async function logInWhen(target: Target, body: unknown, answered = 200) {
  const scene = standIn.openScene();
  scene.answer(target.endpoint, { status: answered, body });
  const { app, status, error } = await logIn(service, await prepareLogin(service, scene, target));
  return { status, error, people: await peopleOf(service, app) };
}

const letIn = { status: 200, error: undefined, people: 1 };
const unknownError = { status: 500, error: 'internal_server_error', people: 0 };
const rejected = { status: 400, error: 'invalid_grant', people: 0 };

const tenKilobytes = 'x'.repeat(10_240);
/** What stands where the person's id should be. */
const unusable: [string, unknown][] = [
  ['a number', 7],
  ['nothing', ''],
  ['10 kB', tenKilobytes],
  ['a list', ['alice']],
  ['an object', { id: 'alice' }],
  ['true', true],
];
const missing: [string, unknown][] = [
  ['missing', undefined],
  ['null', null],
];

const { verification, userInfo, userInfoAfterExchange, introspection, tokenInfo, debugToken } =
  targets;

/** Who names the person, with an answer that does. */
const naming: {
  target: Target;
  answer: (subject: unknown) => object;
  wrong?: [string, unknown][];
}[] = [
  { target: verification, answer: (id_str) => ({ id_str }) },
  { target: userInfo, answer: (sub) => ({ sub }) },
  { target: userInfoAfterExchange, answer: (sub) => ({ sub }) },
  {
    target: introspection,
    answer: (sub) => ({ active: true, client_id: ourApp, sub }),
    wrong: unusable,
  },
  { target: tokenInfo, answer: (user_id) => ({ aud: ourApp, user_id }) },
  {
    target: debugToken,
    answer: (user_id) => ({ data: { app_id: ourApp, is_valid: true, user_id } }),
  },
];

describe.each(naming)(
  '$target.name names',
  ({ target, answer, wrong = [...missing, ...unusable] }) => {
    test.each(wrong)('%s: 500, and nobody is logged in', async (_, subject) => {
      expect(await logInWhen(target, answer(subject))).toEqual(unknownError);
    });

    test('alice: 200', async () => {
      expect(await logInWhen(target, answer('alice'))).toEqual(letIn);
    });
  },
);

describe('a provider that numbers people names', () => {
  const numbering: Target = {
    ...userInfo,
    settings: (address) => ({
      ...userInfo.settings(address),
      user_info: { url: address('user_info'), subject_field: 'id', subject_type: 'integer' },
    }),
  };
  const named = (id: unknown) => {
    const scene = standIn.openScene();
    scene.answer('introspection', { status: 200, body: { active: true, client_id: ourApp } });
    scene.answer('user_info', { status: 200, body: { id } });
    return prepareLogin(service, scene, numbering);
  };

  test('7: 200, and 7 again is the same person', async () => {
    const login = await named(7);
    for (const _ of [1, 2]) expect(await logIn(service, login)).toMatchObject({ status: 200 });
    expect(await peopleOf(service, login.app)).toBe(1);
  });

  // JSON readers round 2^53 + 1 to 2^53, so two people would be one.
  test.each([...missing, ['2^53', 2 ** 53], ['a half', 7.5], ['text', '7']])(
    '%s: 500',
    async (_, id) => {
      const login = await named(id);
      expect(await logIn(service, login)).toMatchObject({ status: 500, error: unknownError.error });
      expect(await peopleOf(service, login.app)).toBe(0);
    },
  );
});

describe('audience validation and user info that name different people', () => {
  const named = naming.filter(({ target }) => target !== verification);
  test.each(named)(
    '$target.name, of bob: 400, and nobody is logged in',
    async ({ target, answer }) => {
      expect(await logInWhen(target, answer('bob'))).toEqual(rejected);
    },
  );
});

test('an introspection need not name a subject', async () => {
  expect(await logInWhen(introspection, { active: true, client_id: ourApp })).toEqual(letIn);
});

const valid = { app_id: ourApp, is_valid: true, user_id: 'alice' };
describe('audience validation that does not say for which app the token is', () => {
  // An app may be numbered, and have a long name.
  const isNoApp = (app: unknown) => app !== tenKilobytes && app !== 7 && !Array.isArray(app);
  const apps = [...missing, ...unusable.filter(([, app]) => isNoApp(app))];

  test.each(apps)(
    'by introspection, token info, or a field of its own there, %s: 500',
    async (_, app) => {
      const introspected = { active: true, client_id: app, sub: 'alice' };
      expect(await logInWhen(introspection, introspected)).toEqual(unknownError);
      expect(await logInWhen(tokenInfo, { aud: app, user_id: 'alice' })).toEqual(unknownError);
      const data = { ...valid, app_id: app };
      expect(await logInWhen(debugToken, { aud: ourApp, data })).toEqual(unknownError);
    },
  );

  test.each([undefined, 'true', 1])('nor whether it is valid, %j: 500', async (is_valid) => {
    expect(await logInWhen(debugToken, { data: { ...valid, is_valid } })).toEqual(unknownError);
  });
});

test('a token for several apps counts if one of ours asked for it', async () => {
  const audiences = { aud: [ourApp, 'another-app'], azp: ourApp };
  expect(await logInWhen(introspection, { active: true, ...audiences, sub: 'alice' })).toEqual(
    letIn,
  );
  expect(await logInWhen(tokenInfo, { ...audiences, user_id: 'alice' })).toEqual(letIn);
});

// A resource server is an audience as well, and Ory Hydra lists none when there is none.
test.each([
  ['nowhere in particular', { aud: [] }],
  ['at an API', { aud: 'https://api.example' }],
  ['at several APIs', { aud: ['https://api.example', 'https://other.example'], azp: ourApp }],
])('a token that our app asked for counts, may it be used %s', async (_, audience) => {
  const answer = { active: true, client_id: ourApp, ...audience, sub: 'alice' };
  expect(await logInWhen(introspection, answer)).toEqual(letIn);
});

describe('an introspection is held to the audience of an id token: 400 for', () => {
  test.each<[string, object]>([
    ['half a number among the apps', { aud: [ourApp, 7.5], azp: ourApp }],
    ['an empty text among the apps', { aud: [ourApp, ''], azp: ourApp }],
    ['null among the apps', { aud: [null, ourApp], azp: ourApp }],
    ['a list in the list', { aud: [[ourApp]], azp: ourApp }],
    ['azp null', { aud: ourApp, azp: null }],
    ['azp a list', { aud: ourApp, azp: [ourApp] }],
    ['azp empty', { aud: ourApp, azp: '' }],
  ])('%s', async (_, audience) => {
    const answer = { active: true, sub: 'alice', ...audience };
    expect(await logInWhen(introspection, answer)).toEqual(rejected);
    expect(await logInWhen(introspection, { ...answer, client_id: ourApp })).toEqual(rejected);
  });
});

describe('audience validation that rejects the token', () => {
  const yesterday = Math.floor(Date.now() / 1000) - 86_400;

  test.each<[string, Target, object]>([
    ['inactive', introspection, { active: false }],
    ['for another app', introspection, { client_id: 'another-app', aud: ourApp }],
    ['expired', introspection, { client_id: ourApp, exp: yesterday }],
    ['for another app, by its token info', tokenInfo, { aud: 'another-app' }],
    ['expired, by its token info', tokenInfo, { aud: ourApp, exp: String(yesterday) }],
    ['expired some seconds ago', tokenInfo, { aud: ourApp, expires_in: -5 }],
    ['not valid', debugToken, { data: { is_valid: false } }],
    ['ours, asked for by another', introspection, { client_id: ourApp, azp: 'another-app' }],
    ['for several apps, by its token info', tokenInfo, { aud: [ourApp, 'another-app'] }],
    ['for no app of a list', introspection, { aud: [] }],
    ['with no second left', tokenInfo, { aud: ourApp, expires_in: 0 }],
    ['of a list of clients', introspection, { client_id: [ourApp] }],
    ['of a list of app ids', debugToken, { data: { ...valid, app_id: [ourApp] }, azp: ourApp }],
    ['asked for by another, by its token info', tokenInfo, { aud: ourApp, azp: 'another-app' }],
  ])('%s: 400', async (_, target, body) => {
    const alice = { active: true, sub: 'alice', user_id: 'alice' };
    expect(await logInWhen(target, { ...alice, ...body })).toEqual(rejected);
  });

  test.each<[string, Target, object]>([
    [
      'introspection',
      introspection,
      { active: true, client_id: ourApp, sub: 'alice', exp: 'soon' },
    ],
    ['token info', tokenInfo, { aud: ourApp, user_id: 'alice', expires_in: 'soon' }],
  ])('%s with an end that is no time: 500', async (_, target, body) => {
    expect(await logInWhen(target, body)).toEqual(unknownError);
  });
});

/** A target with more settings of its audience validation. */
const validatedWith = (target: typeof tokenInfo | typeof debugToken, more: object): Target => ({
  ...target,
  settings: (address) => {
    const { audience_validation, ...rest } = target.settings(address);
    return { ...rest, audience_validation: { ...audience_validation, ...more } };
  },
});

describe('a provider that rejects our own credentials: 500', () => {
  const withBasic = validatedWith(tokenInfo, {
    client_id: ourApp,
    client_secret: 'an outdated secret',
  });

  test.each([
    ['introspection', introspection, 401],
    ['introspection', introspection, 403],
    ['a token info with HTTP Basic', withBasic, 401],
    ['a token info with a token of our app', debugToken, 403],
    ['the code exchange', targets.codeExchange, 401],
  ])('%s', async (_, target, status) => {
    expect(await logInWhen(target, { error: 'invalid_client' }, status)).toEqual(unknownError);
  });
});

test.each([401, 403])(
  'an OAuth 1.0 provider that answers %i rejects the token: 400',
  async (status) => {
    expect(await logInWhen(verification, { error: 'x' }, status)).toEqual(rejected);
  },
);

test.each([400, 401])(
  'a token info for anybody that answers %i rejects the token: 400',
  async (status) => {
    expect(await logInWhen(tokenInfo, { error: 'invalid_token' }, status)).toEqual(rejected);
  },
);

test('a token that ends in this very second has ended: 400', async () => {
  const scene = standIn.openScene();
  scene.answer('introspection', async () => {
    const exp = Math.floor(Date.now() / 1000);
    return { body: { active: true, client_id: ourApp, sub: 'alice', exp } };
  });
  const { status, error } = await logIn(service, await prepareLogin(service, scene, introspection));
  expect([status, error]).toEqual([400, 'invalid_grant']);
});

test.each([
  [16_384, 200, 1],
  [16_385, 400, 0],
])('a credential of %i characters: %i, after %i calls', async (length, status, calls) => {
  const scene = standIn.openScene();
  const grant_type = 'provider_authorization_code';
  const login = () => ({ grant_type, authorization_code: 'x'.repeat(length) });
  const prepared = await prepareLogin(service, scene, { ...targets.codeExchange, login });
  expect((await logIn(service, prepared)).status).toBe(status);
  expect(scene.calls('token')).toBe(calls);
});

test('a token info whose error code rejects the token, as Facebook has for tokens of other apps, or that gives no verdict: 400', async () => {
  const refusing = { error_field: 'error.code', refused_errors: ['100'] };
  const target = validatedWith(debugToken, refusing);
  const answer = (code: number) =>
    logInWhen(target, { error: { code, type: 'OAuthException' } }, 400);
  expect(await answer(100)).toEqual(rejected);
  expect(await answer(190)).toEqual(rejected);
});
