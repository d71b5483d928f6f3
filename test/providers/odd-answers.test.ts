import { brotliCompressSync, deflateRawSync, deflateSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { basicAuthorization } from '../../lib/providers/calls/call-provider.ts';
import { logLine } from '../support/log-lines.ts';
import { ourApp, type Scene, startProviderStandIn } from '../support/provider-stand-in.ts';
import {
  logIn,
  peopleOf,
  prepareLogin,
  type Target,
  targets,
} from '../support/provider-targets.ts';
import { sharedLog, sharedService } from '../support/service.ts';

const service = sharedService();
const running = sharedLog();
const standIn = await startProviderStandIn();

const { verification, userInfo, introspection, tokenInfo, debugToken, discovery, keys } = targets;
const { codeExchange } = targets;

const letIn = { status: 200, error: undefined, people: 1 };
const unknownError = { status: 500, error: 'internal_server_error', people: 0 };
const rejected = { status: 400, error: 'invalid_grant', people: 0 };

/** What a login ends in, and what the log says of the provider's failure. */
async function outcomeOf(scene: Scene, target: Target) {
  const { app, status, error, requestId } = await logIn(
    service,
    await prepareLogin(service, scene, target),
  );
  return { outcome: { status, error, people: await peopleOf(service, app) }, requestId };
}

/** The failure that the log has of a login that ended in a 500. */
const failureOf = async (request_id: string | null) =>
  (await logLine(running, 'provider_failed', { request_id })).failure;

/** A login at which an endpoint answers with these bytes. */
async function logInWhen(
  target: Target,
  bytes: string | Buffer,
  headers: Record<string, string> = { 'content-type': 'application/json' },
  status = 200,
) {
  const scene = standIn.openScene();
  scene.misbehave(target.endpoint, (_request, response) => {
    response.writeHead(status, headers).end(bytes);
  });
  return outcomeOf(scene, target);
}

/** The right answer of an endpoint, in the encoding of old servers. */
const latin1 = (answer: object): Buffer => Buffer.from(JSON.stringify(answer), 'latin1');

describe('an answer whose bytes are not UTF-8: 500, and nobody is logged in', () => {
  test.each<[string, Target, object]>([
    ['user info, müller', userInfo, { sub: 'm\xfcller' }],
    ['user info, mäller', userInfo, { sub: 'm\xe4ller' }],
    ['user info, möller', userInfo, { sub: 'm\xf6ller' }],
    ['user info, in a name', userInfo, { sub: 'alice', name: 'M\xfcller' }],
    ['introspection', introspection, { active: true, client_id: ourApp, sub: 'm\xfcller' }],
    ['token info', tokenInfo, { aud: ourApp, user_id: 'm\xfcller' }],
    ['token endpoint', codeExchange, { access_token: 't', scope: '\xfc' }],
    ['OAuth 1.0', verification, { id_str: 'm\xfcller' }],
    ['key set', keys, { keys: [{ kty: 'EC', kid: '\xfc' }] }],
    ['discovery', discovery, { issuer: '\xfc' }],
  ])('%s', async (_, target, answer) => {
    const { outcome, requestId } = await logInWhen(target, latin1(answer));
    expect(outcome).toEqual(unknownError);
    expect(await failureOf(requestId)).toMatchObject({ code: 'answer_not_utf8' });
  });

  test('but a byte order mark before UTF-8 is none of the text', async () => {
    const marked = Buffer.from(`\ufeff${JSON.stringify({ sub: 'alice' })}`);
    expect((await logInWhen(userInfo, marked)).outcome).toEqual(letIn);
  });

  test('but an error answer that rejects a code is one in any encoding', async () => {
    const refusal = latin1({ error: 'invalid_grant', error_description: 'ung\xfcltig' });
    const { outcome } = await logInWhen(codeExchange, refusal, undefined, 400);
    expect(outcome).toEqual(rejected);
  });
});

test.each<[string, Target, string]>([
  ['user info', userInfo, String.raw`{"sub":"\ud800"}`],
  ['token info', tokenInfo, `{"aud":"${ourApp}","user_id":"\\udfff"}`],
  ['OAuth 1.0', verification, String.raw`{"id_str":"\ud800"}`],
])('half a surrogate pair as a subject, %s: 500', async (_, target, answer) => {
  expect((await logInWhen(target, answer)).outcome).toEqual(unknownError);
});

describe('JSON is accepted, and noted, as', () => {
  const types = ['text/plain', 'text/json', 'application/octet-stream', 'text/html; charset=utf-8'];

  test.each(types)('%s: a user info and a key set', async (type) => {
    const headers = { 'content-type': type };
    const { outcome, requestId } = await logInWhen(userInfo, '{"sub":"alice"}', headers);
    expect(outcome).toEqual(letIn);
    const [content_type] = type.split(';');
    const note = { event: 'provider_called', request_id: requestId, content_type };
    expect(await logLine(running, 'provider_called', note)).toMatchObject(note);
    const scene = standIn.openScene();
    scene.misbehave('jwks', async (_request, response) => {
      const good = await (await fetch(`${scene.url}/elsewhere/jwks`)).text();
      response.writeHead(200, headers).end(good);
    });
    expect((await outcomeOf(scene, keys)).outcome).toEqual(letIn);
  });

  test('no content type at all', async () => {
    expect((await logInWhen(userInfo, '{"sub":"alice"}', {})).outcome).toEqual(letIn);
  });

  const compressions: Record<string, (text: string) => Buffer> = {
    br: brotliCompressSync,
    deflate: deflateSync,
    'deflate without a header': deflateRawSync,
    zstd: zstdCompressSync,
  };

  test.each(Object.entries(compressions))('%s, though nobody asked', async (name, compress) => {
    const encoding = name.split(' ')[0] ?? '';
    const headers = { 'content-type': 'application/json', 'content-encoding': encoding };
    const body = compress('{"sub":"alice"}');
    expect((await logInWhen(userInfo, body, headers)).outcome).toEqual(letIn);
    const bomb = compress(`{"sub":"alice"}${' '.repeat(10_000_000)}`);
    const { outcome, requestId } = await logInWhen(userInfo, bomb, headers);
    expect(outcome).toEqual(unknownError);
    expect(await failureOf(requestId)).toMatchObject({ code: 'answer_too_large' });
    const cut = await logInWhen(userInfo, body.subarray(0, -3), headers);
    expect(cut.outcome).toEqual(unknownError);
    expect(await failureOf(cut.requestId)).toMatchObject({ code: 'answer_not_decompressed' });
  });

  test('but by no other compression', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'pack200-gzip' };
    const { outcome, requestId } = await logInWhen(userInfo, '{"sub":"alice"}', headers);
    expect(outcome).toEqual(unknownError);
    expect(await failureOf(requestId)).toMatchObject({ code: 'answer_not_decompressed' });
  });
});

describe('an introspection that names our app by client_id', () => {
  const answer = { active: true, client_id: ourApp, sub: 'alice' };
  const introspected = async (body: object) => {
    const { outcome } = await logInWhen(introspection, JSON.stringify(body));
    return outcome;
  };

  test('may have more audiences, as ZITADEL has the project', async () => {
    expect(await introspected({ ...answer, aud: [ourApp, 'project'] })).toEqual(letIn);
    expect(await introspected({ ...answer, aud: ['project', 'another-app'] })).toEqual(letIn);
  });

  test.each<[string, object]>([
    ['client_id', { client_id: 'another-app', aud: [ourApp] }],
    ['client_id, and ours by azp', { client_id: 'another-app', aud: [ourApp], azp: ourApp }],
    ['azp', { azp: 'another-app', aud: [ourApp, 'another-app'] }],
    ['azp, in one audience', { client_id: undefined, azp: 'another-app', aud: ourApp }],
    ['nothing but the audiences', { client_id: undefined, aud: [ourApp, 'another-app'] }],
    ['client_id null', { client_id: null, aud: [ourApp, 'another-app'] }],
    ['a list of clients', { client_id: [ourApp, 'another-app'], aud: [ourApp] }],
  ])('is held to it: 400 for another app by %s', async (_, named) => {
    expect(await introspected({ ...answer, ...named })).toEqual(rejected);
  });
});

describe('an app id that is a number', () => {
  const numbered = (target: Target, audience: string): Target => ({
    ...target,
    settings: (address) => {
      const settings = JSON.stringify(target.settings(address));
      return JSON.parse(
        settings.replaceAll(`"audiences":["${ourApp}"]`, `"audiences":["${audience}"]`),
      );
    },
  });

  test.each<[audience: string, id: string, outcome: object]>([
    ['1234', '1234', letIn],
    ['1234', '"1234"', letIn],
    ['1234.0', '1234', rejected],
    ['1234', '"1234.0"', rejected],
    ['1234', '12345', rejected],
    // Numbers beyond 2^53 are rounded: two apps would be one.
    ['9007199254740992', '9007199254740993', unknownError],
  ])('%s in the settings, %s in the answer', async (audience, id, outcome) => {
    const debug = `{"data":{"app_id":${id},"is_valid":true,"user_id":"alice"}}`;
    const introspected = `{"active":true,"client_id":${id},"sub":"alice"}`;
    expect((await logInWhen(numbered(debugToken, audience), debug)).outcome).toEqual(outcome);
    expect((await logInWhen(numbered(introspection, audience), introspected)).outcome).toEqual(
      outcome,
    );
  });
});

describe('the end of a token', () => {
  const now = Math.floor(Date.now() / 1000);
  test.each<[string, object, outcome: object]>([
    ["the seconds that are left, as Amazon's exp", { exp: 3597 }, letIn],
    ['no second left', { exp: 0 }, rejected],
    ['fewer than none', { exp: -5 }, rejected],
    ['the seconds as text', { exp: '3597' }, letIn],
    ['a time to come', { exp: now + 3600 }, letIn],
    ['a time that is over', { exp: now - 5 }, rejected],
  ])('is %s', async (_, end, outcome) => {
    const answer = JSON.stringify({ aud: ourApp, user_id: 'alice', ...end });
    expect((await logInWhen(tokenInfo, answer)).outcome).toEqual(outcome);
    const introspected = JSON.stringify({ active: true, client_id: ourApp, sub: 'alice', ...end });
    expect((await logInWhen(introspection, introspected)).outcome).toEqual(outcome);
  });
});

describe('introspection authenticates', () => {
  const secret = 'a secret with : and +';
  const authenticatedBy = (client_authentication: string | undefined): Target => ({
    ...introspection,
    settings: (address) => {
      const { audience_validation, ...rest } = introspection.settings(address);
      const more = { client_secret: secret, client_authentication };
      return { ...rest, audience_validation: { ...audience_validation, ...more } };
    },
  });

  test.each<[string | undefined, object, string | undefined]>([
    [undefined, {}, basicAuthorization(ourApp, secret)],
    ['basic', {}, basicAuthorization(ourApp, secret)],
    ['form', { client_id: ourApp, client_secret: secret }, undefined],
  ])('by %s', async (method, form, authorization) => {
    const scene = standIn.openScene();
    let sent: string | undefined;
    scene.misbehave('introspection', (request, response) => {
      sent = request.headers.authorization;
      const body = JSON.stringify({ active: true, client_id: ourApp, sub: 'alice' });
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
    expect((await outcomeOf(scene, authenticatedBy(method))).outcome).toEqual(letIn);
    expect(sent).toBe(authorization);
    expect(scene.forms('introspection')).toEqual([
      { token: 'an-access-token', token_type_hint: 'access_token', ...form },
    ]);
  });
});

describe('a signed user info (OpenID Connect Core 1.0, section 5.3.2)', () => {
  const signed: Target = {
    ...userInfo,
    settings: (address) => {
      const settings = userInfo.settings(address);
      const issuer = address('').slice(0, -1);
      const signature = { issuer, jwks_uri: address('jwks'), audiences: [ourApp] };
      return { ...settings, user_info: { ...settings.user_info, signature } };
    },
  };
  const asJwt = { 'content-type': 'application/jwt' };
  const toldBy = async (
    jwt: (scene: Scene) => Promise<string>,
    target = signed,
    headers: Record<string, string> = asJwt,
  ) => {
    const scene = standIn.openScene();
    const text = await jwt(scene);
    scene.misbehave('user_info', (_request, response) => {
      response.writeHead(200, headers).end(text);
    });
    return outcomeOf(scene, target);
  };

  test('identifies the person', async () => {
    const { outcome } = await toldBy((scene) => scene.idToken({ exp: undefined, iat: undefined }));
    expect(outcome).toEqual(letIn);
  });

  test.each<[string, object, object]>([
    ['of another person than the introspection', { sub: 'bob' }, rejected],
    ['for another app', { aud: 'another-app' }, rejected],
    ['for nobody', { aud: undefined }, unknownError],
    ['of another issuer', { iss: 'https://issuer.example' }, unknownError],
    ['without an issuer', { iss: undefined }, unknownError],
    ['without a subject', { sub: undefined }, unknownError],
    ['that has expired', { iat: 1, exp: 2 }, unknownError],
  ])('%s logs nobody in', async (_, claims, expected) => {
    const { outcome } = await toldBy((scene) => scene.idToken(claims));
    expect(outcome).toEqual(expected);
  });

  test('by another key logs nobody in', async () => {
    const other = standIn.openScene();
    const { outcome } = await toldBy(({ url }) => other.idToken({ iss: url }));
    expect(outcome).toEqual(unknownError);
  });

  test('is required where the settings name its issuer', async () => {
    const json = { 'content-type': 'application/json' };
    const { outcome } = await toldBy(async () => '{"sub":"alice"}', signed, json);
    expect(outcome).toEqual(unknownError);
  });

  test('without settings for it is a failure that names them', async () => {
    const { outcome, requestId } = await toldBy((scene) => scene.idToken(), userInfo);
    expect(outcome).toEqual(unknownError);
    expect(await failureOf(requestId)).toMatchObject({
      message: expect.stringContaining('the settings need user_info.signature'),
    });
  });
});

describe('a limit or a bill of our app is not told to the person as their own fault', () => {
  test.each<[string, number, Record<string, string>, object]>([
    ['403 with Retry-After', 403, { 'retry-after': '60' }, { status: 429 }],
    ['403 with no requests left', 403, { 'x-ratelimit-remaining': '0' }, { status: 429 }],
    ['402', 402, {}, unknownError],
    ['403', 403, { 'x-ratelimit-remaining': '7' }, rejected],
  ])('%s', async (_, status, headers, expected) => {
    expect((await logInWhen(userInfo, '{}', headers, status)).outcome).toMatchObject(expected);
  });
});
