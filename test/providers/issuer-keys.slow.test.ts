import { beforeEach, describe, expect, test } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { logLine } from '../support/log-lines.ts';
import { createLoginApp, type LoginApp } from '../support/login-app.ts';
import { accountOf } from '../support/people.ts';
import { ourApp, type Scene, startProviderStandIn } from '../support/provider-stand-in.ts';
import { serviceOf, unique } from '../support/service.ts';
import type { FollowedService } from '../support/start-service.ts';
import { twoInstances } from '../support/two-instances.ts';

const minute = 60;
const hour = 60 * minute;

const standIn = await startProviderStandIn();
/**
 * Two warm functions of one service. Each test has an issuer of its own, for which both are cold.
 */
const instances = await twoInstances();
const { service, running: first, proxy, advance: pass } = instances;
const second = instances.second.running;
let issuer: Scene;
let app: LoginApp;

beforeEach(async () => {
  issuer = standIn.openScene();
  app = await createLoginApp(service, unique('app'));
  await service.setProvider(app, 'provider_f', {
    issuers: [{ issuer: issuer.url, audiences: [ourApp] }],
  });
});

/** An id token of now, by the clock of the functions. */
const idToken = (scene = issuer): Promise<string> =>
  scene.idToken({ iat: first.now(), exp: first.now() + hour });

/** The status of a login at one of the functions. */
async function logIn({ demo, directory }: FollowedService, token?: string): Promise<number> {
  return (await serviceOf(demo, directory).byIdToken(token ?? (await idToken()), app)).status;
}

/** The statuses of several logins at once, each with a token of its own. */
const logInAtOnce = (times: number, newToken: () => Promise<string>): Promise<number[]> =>
  Promise.all(Array.from({ length: times }, async () => logIn(first, await newToken())));

/** A token signed by a key that nobody knows, as anybody can make one up. */
async function withMadeUpKey(): Promise<string> {
  const [, ...rest] = (await idToken()).split('.');
  const header = JSON.stringify({ alg: 'ES256', kid: unique('made-up') });
  return [Buffer.from(header).toString('base64url'), ...rest].join('.');
}

const discovery = '.well-known/openid-configuration';
/**
 * How often logins asked the issuer for its discovery document and its keys; the operator's command
 * has looked once.
 */
const asked = (): number[] => [issuer.calls(discovery) - 1, issuer.calls('jwks')];

const breakDown = (endpoint: string, status = 503, body = '', type = 'application/json'): void =>
  issuer.answer(endpoint, { status, body, headers: { 'content-type': type } });

describe('the keys of an issuer', () => {
  test('are asked for once, also by logins at once, and kept by a warm function for an hour', async () => {
    expect(await logInAtOnce(5, idToken)).toEqual(Array(5).fill(200));
    expect(asked()).toEqual([1, 1]);
    pass(59 * minute);
    expect(await logIn(first)).toBe(200);
    expect(asked()).toEqual([1, 1]);
    pass(minute);
    expect(await logIn(first)).toBe(200);
    expect(asked()).toEqual([2, 2]);
  });

  test('are in the table: one warm function asks for the others, and a cold start does not ask', async () => {
    expect([await logIn(first), await logIn(second)]).toEqual([200, 200]);
    expect(asked()).toEqual([1, 1]);
    pass(hour);
    expect([await logIn(first), await logIn(second)]).toEqual([200, 200]);
    expect(asked()).toEqual([2, 2]);
  });
});

describe('the keys of an issuer in the table', () => {
  test('are not those that a notification fetched, which anybody can send', async () => {
    const { sub, exp, events } = {
      sub: undefined,
      exp: undefined,
      events: { type: 'other', sub: 'alice' },
    };
    const payload = await issuer.idToken({
      sub,
      exp,
      events,
      jti: unique('jti'),
      iat: first.now(),
    });
    const path = `/v2/marketing/providers/provider_f/notifications?login_app_id=${app.login_app_id}`;
    expect((await service.json(path, { payload })).status).toBe(204);
    expect(await logIn(second)).toBe(200);
    expect(asked()).toEqual([2, 2]);
  });

  test('are not those that somebody who links has fetched', async () => {
    const home = standIn.openScene();
    const issuers = [home, issuer].map(({ url }) => ({ issuer: url, audiences: [ourApp] }));
    await service.setProvider(app, 'provider_f', { issuers });
    const { body } = await service.byIdToken(await idToken(home), app);
    const { link } = accountOf(service, body.access_token);
    expect((await link({ provider: 'provider_f', id_token: await idToken() })).status).toBe(201);
    expect(await logIn(second)).toBe(200);
    expect(issuer.calls('jwks')).toBe(2);
  });

  test('count as old if they are said to be fetched in the future', async () => {
    pass(2 * hour);
    expect(await logIn(first)).toBe(200);
    pass(-2 * hour);
    expect(await logIn(second)).toBe(200);
    expect(asked()).toEqual([2, 2]);
  });

  test('may have numbers that the table has not, and more levels', async () => {
    const published = await (await fetch(`${issuer.url}/jwks`)).text();
    const deep = `${'['.repeat(40)}1${']'.repeat(40)}`;
    const body = published.replace('{"kty"', `{"issued":9007199254740993,"deep":${deep},"kty"`);
    issuer.answer('jwks', { status: 200, body });
    expect([await logIn(first), await logIn(first), await logIn(second)]).toEqual([200, 200, 200]);
    expect(issuer.calls('jwks')).toBe(2);
  });

  test('that cannot be put there serve all the same, and the log says so', async () => {
    proxy.hook = ({ operation, body }) =>
      operation === 'PutItem' && JSON.stringify(body).includes('"ISSUER#')
        ? 'fails before'
        : undefined;
    expect([await logIn(first), await logIn(first), await logIn(second)]).toEqual([200, 200, 200]);
    expect(asked()).toEqual([2, 2]);
    expect(await logLine(first, 'provider_keys_not_stored', { issuer: issuer.url })).toMatchObject({
      level: 'ERROR',
      failure: { name: 'ValidationException' },
    });
  });
});

describe('a key that is not known', () => {
  test('is asked for at most once a minute, however many tokens name one', async () => {
    expect(await logIn(first)).toBe(200);
    expect(await logInAtOnce(10, withMadeUpKey)).toEqual(Array(10).fill(400));
    pass(minute - 15);
    expect(await logIn(first, await withMadeUpKey())).toBe(400);
    expect(asked()).toEqual([1, 1]);
    pass(15);
    expect(await logInAtOnce(10, withMadeUpKey)).toEqual(Array(10).fill(400));
    expect(await logInAtOnce(10, withMadeUpKey)).toEqual(Array(10).fill(400));
    expect(await logIn(second, await withMadeUpKey())).toBe(400);
    expect(asked()).toEqual([2, 2]);
  });

  test('is accepted after a minute at most, and the old one no more', async () => {
    const old = await idToken();
    expect(await logIn(first, old)).toBe(200);
    issuer.rotateKey();
    expect(await logIn(first)).toBe(400);
    pass(minute);
    expect([await logIn(first), await logIn(second)]).toEqual([200, 200]);
    expect(await logIn(first, old)).toBe(400);
    expect(asked()).toEqual([2, 2]);
  });

  test('is no verdict while the issuer gives no keys: 500, and it counts afterwards', async () => {
    const old = await idToken();
    expect(await logIn(first, old)).toBe(200);
    issuer.rotateKey();
    pass(minute);
    breakDown('jwks');
    expect([await logIn(first), await logIn(first), await logIn(first, old)]).toEqual([
      500, 500, 200,
    ]);
    expect(asked()).toEqual([2, 2]);
    issuer.behave();
    pass(minute);
    expect(await logIn(first)).toBe(200);
  });
});

describe('a new key under the id of the old one', () => {
  const reuseId = async () => {
    issuer.rotateKey(String(decodeProtectedHeader(await idToken()).kid));
  };

  test('is accepted after a minute at most, and the old one no more', async () => {
    const old = await idToken();
    expect(await logIn(first, old)).toBe(200);
    await reuseId();
    expect(await logIn(first)).toBe(400);
    pass(minute);
    expect([await logIn(first), await logIn(second)]).toEqual([200, 200]);
    expect(await logIn(first, old)).toBe(400);
  });

  test('is asked for at most once a minute, however many signatures are wrong', async () => {
    const forged = async () => `${(await idToken()).slice(0, -9)}AAAAAAAAA`;
    expect(await logIn(first)).toBe(200);
    expect(await logInAtOnce(10, forged)).toEqual(Array(10).fill(400));
    expect(asked()).toEqual([1, 1]);
    pass(minute);
    expect(await logInAtOnce(10, forged)).toEqual(Array(10).fill(400));
    expect(await logInAtOnce(10, forged)).toEqual(Array(10).fill(400));
    expect(await logIn(second, await forged())).toBe(400);
    expect(await logInAtOnce(10, withMadeUpKey)).toEqual(Array(10).fill(400));
    expect(asked()).toEqual([2, 2]);
  });
});

describe('an outage', () => {
  test.each<[string, string, () => void]>([
    ['discovery', 'answers 503', () => breakDown(discovery)],
    ['jwks', 'answers 503', () => breakDown('jwks')],
    ['jwks', 'answers 431', () => breakDown('jwks', 431)],
    ['jwks', 'answers without keys', () => breakDown('jwks', 200, '{"keys":[]}')],
    ['jwks', 'answers in HTML', () => breakDown('jwks', 200, '<h1>Sorry</h1>', 'text/html')],
  ])('%s %s: the last keys serve up to 24 hours, and not longer', async (_, __, begin) => {
    expect(await logIn(first)).toBe(200);
    begin();
    const both = async () => [await logIn(first), await logIn(second)];
    pass(2 * hour);
    expect(await both()).toEqual([200, 200]);
    pass(21 * hour + 59 * minute);
    expect(await both()).toEqual([200, 200]);
    pass(minute);
    expect(await both()).toEqual([500, 500]);
    issuer.behave();
    pass(minute);
    expect(await both()).toEqual([200, 200]);
  });

  test('of an issuer of which no keys are known: it is asked once a minute, and another function may have more luck', async () => {
    breakDown(discovery);
    expect(await logInAtOnce(5, idToken)).toEqual(Array(5).fill(500));
    pass(minute - 15);
    expect(await logIn(first)).toBe(500);
    expect(asked()).toEqual([1, 0]);
    pass(15);
    expect(await logIn(first)).toBe(500);
    expect(asked()).toEqual([2, 0]);
    issuer.behave();
    expect([await logIn(first), await logIn(second), await logIn(first)]).toEqual([500, 200, 200]);
    expect(asked()).toEqual([3, 1]);
  });

  test('is not asked about by every login', async () => {
    expect(await logIn(first)).toBe(200);
    breakDown(discovery);
    pass(hour);
    expect(await logInAtOnce(5, idToken)).toEqual(Array(5).fill(200));
    pass(minute - 15);
    expect(await logInAtOnce(5, idToken)).toEqual(Array(5).fill(200));
    expect(asked()).toEqual([2, 1]);
    pass(15);
    expect(await logIn(first)).toBe(200);
    expect(asked()).toEqual([3, 1]);
  });
});
