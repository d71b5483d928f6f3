import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { setEnvironment } from '../../infra/local/load-functions.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { askLoginHook, tryLoginHook } from '../../lib/people/login-hook.ts';
import { probeIds } from '../../lib/storage/probe-ids.ts';

/** How Lambda answers the next calls. */
let answer: (response: ServerResponse) => void;
let told: unknown[] = [];
let types: unknown[] = [];
const used = new WeakSet<Socket>();
/** Lambda behind connections that take one request each: any other is reset, as after a freeze. */
const lambda = await serve(async (request, response) => {
  types.push(request.headers['x-amz-invocation-type']);
  told.push(JSON.parse((await readBody(request)).toString()));
  if (used.has(request.socket)) return void request.socket.resetAndDestroy();
  used.add(request.socket);
  answer(response);
});
afterAll(() => lambda.close());

const addresses = { base_url: lambda.url, dynamodb_endpoint: lambda.url, table_name: 'a-table' };
setEnvironment(addresses, { url: lambda.url, secret_access_key: 'a-key' });
Object.assign(process.env, { LOGIN_HOOK: 'login-hook:live', LOGIN_HOOK_SECONDS: '1' });

let log = '';
const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
  log += String(text);
  return true;
});
afterAll(() => write.mockRestore());
beforeEach(() => {
  told = [];
  types = [];
  log = '';
});

const event = {
  event: 'login',
  login_app_id: 'la_1',
  login_user_id: 'lu_1',
  external_id: undefined,
  client_id: 'la_1.c_1',
} as const;
const ask = () => askLoginHook(event);

test('no connection is used twice: three calls in a row succeed, each sent once', async () => {
  answer = (response) => response.end('{"claims":{"roles":["admin"]}}');
  for (const _ of 'abc') expect(await ask()).toBe('{"roles":["admin"]}');
  expect(log.match(/"event":"login_hook_called"/g)).toHaveLength(3);
  expect(told).toHaveLength(3);
  expect(told[0]).toMatchObject({ version: 1, event: 'login', login_user_id: 'lu_1' });
});

describe('a call that fails is not repeated, and the log says why', () => {
  test.each<[string, (response: ServerResponse) => void, RegExp]>([
    ['the connection breaks', ({ socket }) => socket?.resetAndDestroy(), /no answer from Lambda/],
    ['it takes too long', () => {}, /did not answer within 1 s/],
    ['Lambda refuses', (response) => response.writeHead(403).end('{}'), /Lambda answers with 403/],
    ['Lambda is busy', (response) => response.writeHead(429).end('{}'), /Lambda answers with 429/],
    [
      'the function throws',
      (response) => response.writeHead(200, { 'x-amz-function-error': 'Unhandled' }).end('{}'),
      /failed: Unhandled/,
    ],
    ['the answer is no JSON', (response) => response.end('ok'), /invalid answer/],
    ['the answer is endless', (response) => response.end(' '.repeat(70_000)), /longer than 64 KiB/],
  ])('%s', async (_, fault, why) => {
    answer = fault;
    await expect(ask()).rejects.toThrow(why);
    expect(told).toHaveLength(1);
    expect(log).toContain('login_hook_failed');
    expect(log).toMatch(why);
  });
});

describe('the login of a check of new versions tries whether the hook may be invoked', () => {
  const tried = () => tryLoginHook(`${probeIds.loginApp}1`);

  test('without running it, and without a word in the log', async () => {
    answer = (response) => response.writeHead(204).end();
    await tried();
    expect(types).toEqual(['DryRun']);
    expect(log).toBe('');
  });

  test('other logins try nothing', async () => {
    await tryLoginHook('la_1');
    expect(told).toEqual([]);
  });

  test.each<[string, (response: ServerResponse) => void, string]>([
    [
      'the role may not',
      (response) =>
        response.writeHead(403, { 'x-amzn-errortype': 'AccessDeniedException' }).end('{}'),
      'This version may not invoke the login hook login-hook:live: Lambda answers with 403 AccessDeniedException.',
    ],
    [
      'a stand-in answers as if the hook had run',
      (response) => response.end('{}'),
      'This version may not invoke the login hook login-hook:live: Lambda answers with 200.',
    ],
    ['nobody answers', () => {}, 'The login hook did not answer within 1 s.'],
  ])('%s: the login fails and says so', async (_, fault, message) => {
    answer = fault;
    await expect(tried()).rejects.toMatchObject({ code: 'temporarily_unavailable', message });
  });
});
