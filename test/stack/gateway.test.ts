import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { readFunctions } from '../../infra/endpoints.ts';
import { gateway, type Route } from '../../infra/local/gateway.ts';
import { type LoopbackServer, serve } from '../../infra/local/loopback-server.ts';

/** What the handlers were called with, and for which route. */
let invoked: { key: string; event: Parameters<Route['handler']>[0] }[] = [];
const printed: string[] = [];
let result: () => unknown;
let server: LoopbackServer;

beforeAll(async () => {
  const recording = (key: string): Route['handler'] => {
    return async (event) => {
      invoked.push({ key, event });
      return result();
    };
  };
  const { endpoints } = readFunctions();
  const routes = [...endpoints].map(([key, endpoint]) => ({ endpoint, handler: recording(key) }));
  server = await serve(gateway(routes, (line) => printed.push(line)));
});

afterAll(() => server.close());

beforeEach(() => {
  invoked = [];
  result = () => ({ statusCode: 200, headers: { 'content-type': 'application/json' }, body: '{}' });
});

const send = async (path: string, init: RequestInit = {}) => {
  const response = await fetch(`${server.url}${path}`, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
};
const eventOf = async (path: string, init: RequestInit = {}) => {
  await send(path, init);
  const [only, ...others] = invoked;
  if (!only || others.length > 0) throw new Error('One handler is called, once.');
  return only;
};
const token = '/v2/marketing/oauth/token';
const devices = '/v2/marketing/login/user/push_notifications/devices';
const revoke = '/v2/marketing/oauth/revoke';
const register = '/v2/marketing/push_notifications/devices';
const device = { platform: 'ios', token: '0a'.repeat(32) };
const comments = '/v1/rbac/access_requests/7/comments';
const comment = JSON.stringify({ actor_type: 'custom', actor_id: 'desk', comment: 'x' });

describe('a request in payload format 2.0', () => {
  test('a form comes in base64', async () => {
    const body = new URLSearchParams({ grant_type: 'client_credentials', text: 'ä +' });
    const { key, event } = await eventOf(token, { method: 'POST', body });
    expect({ key, isBase64Encoded: event.isBase64Encoded }).toEqual({
      key: 'issue-token',
      isBase64Encoded: true,
    });
    expect(Buffer.from(event.body ?? '', 'base64').toString()).toBe(body.toString());
  });

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/problem+json',
    'text/plain',
  ])('a body of %s comes as text', async (type) => {
    const init = { method: 'POST', headers: { 'content-type': type }, body: '{"a":"☃"}' };
    const { event } = await eventOf(comments, init);
    expect(event).toMatchObject({ body: '{"a":"☃"}', isBase64Encoded: false });
  });

  test('without a body there is none', async () => {
    const { event } = await eventOf(token, { method: 'POST' });
    expect(event).toMatchObject({ body: undefined, isBase64Encoded: false });
  });

  test('the names of headers are in lower case; repeated ones are joined by commas', async () => {
    // fetch would join them itself.
    const headers = { Authentication: 'Bearer x', 'X-Twice': ['one', 'two'] };
    const sent = httpRequest(`${server.url}${devices}`, { headers });
    const [response] = await once(sent.end(), 'response');
    await once(response.resume(), 'end');
    const event = invoked[0]?.event ?? { headers: {} };
    expect(event.headers).toMatchObject({ authentication: 'Bearer x', 'x-twice': 'one,two' });
    expect(Object.keys(event.headers)).toEqual(
      Object.keys(event.headers).map((name) => name.toLowerCase()),
    );
  });

  test('the query comes raw', async () => {
    const { event } = await eventOf(
      '/v1/rbac/access_requests/7/events?ids=1&ids=2%2C3&actor_id=a+%26',
    );
    expect(event.rawQueryString).toBe('ids=1&ids=2%2C3&actor_id=a+%26');
    expect(event.requestContext.routeKey).toBe(
      'GET /v1/rbac/access_requests/{access_request_id}/events',
    );
  });

  test('without a query and variables in its path, it has neither', async () => {
    const { event } = await eventOf('/v2/marketing/oauth/jwks');
    expect(event).toMatchObject({ rawQueryString: '', pathParameters: undefined });
  });

  test.each([
    ['a%20b', 'a b'],
    ['%E2%98%83', '☃'],
    ['%zz', '%zz'],
  ])('a segment %s of the path is the variable %s', async (segment, access_request_id) => {
    const { event } = await eventOf(`/v1/rbac/access_requests/${segment}/events`);
    expect(event.pathParameters).toEqual({ access_request_id });
  });
});

describe('an answer', () => {
  test('is what the handler returns: status, headers, body', async () => {
    result = () => ({ statusCode: 418, headers: { 'x-a': 'b' }, body: 'short and stout' });
    const { status, headers, text } = await send('/v2/marketing/oauth/jwks');
    expect({ status, a: headers.get('x-a'), text }).toEqual({
      status: 418,
      a: 'b',
      text: 'short and stout',
    });
  });

  test.each<[string, string, RequestInit, number, string]>([
    ['where no route is', '/nowhere', {}, 404, 'Not Found'],
    ['to another method', token, { method: 'PUT' }, 404, 'Not Found'],
    ['to the preflight of a browser', token, { method: 'OPTIONS' }, 404, 'Not Found'],
    [
      'to more than 10 MB',
      token,
      { method: 'POST', body: new Uint8Array(10_485_761) },
      413,
      'Request Entity Too Large',
    ],
    [
      'with more than 10,240 bytes of request line and headers',
      token,
      { method: 'POST', headers: { 'x-long': 'x'.repeat(10_241) } },
      431,
      'Request Header Fields Too Large',
    ],
    [
      'with a longer one than Node takes by itself',
      `${token}?x=${'x'.repeat(30_000)}`,
      { method: 'POST' },
      431,
      'Request Header Fields Too Large',
    ],
  ])('%s, is one of API Gateway itself', async (_, path, init, status, message) => {
    const answer = await send(path, init);
    expect({ status: answer.status, text: answer.text }).toEqual({
      status,
      text: JSON.stringify({ message }),
    });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(invoked).toEqual([]);
  });

  test('of a function that fails is a plain 500', async () => {
    result = () => {
      throw new Error('a secret');
    };
    const { status, text } = await send('/v2/marketing/oauth/jwks');
    expect({ status, text }).toEqual({ status: 500, text: '{"message":"Internal Server Error"}' });
  });

  test.each([
    ['PUT', token, `POST ${token}`],
    ['POST', devices.replace('devices', 'device'), `POST ${devices}`],
    ['POST', `${token}/`, `POST ${token}`],
    ['POST', '/oauth/token', `POST ${token}`],
    [
      'GET',
      '/v1/rbac/access-requests/7/event',
      'GET /v1/rbac/access_requests/{access_request_id}/events',
    ],
  ])('to %s %s names the route that is near: %s', async (method, path, near) => {
    const { headers } = await send(path, { method });
    expect(headers.get('x-hint')).toBe(`There is ${near}.`);
    expect(printed.at(-1)).toMatch(new RegExp(`^${method} ${path} 404 \\d+ ms There is `));
  });

  test.each<[string, string, string, Record<string, string>, string[]]>([
    ['fields of a form', token, 'grant_type=client_credentials&client=x', {}, ['client']],
    [
      'fields of the form of another grant',
      token,
      'grant_type=client_credentials&scope=a&code=1',
      {},
      ['code'],
    ],
    [
      'fields at any depth',
      register,
      JSON.stringify({ device: { ...device, lang: 'de' }, a: {} }),
      {},
      ['device.lang', 'a'],
    ],
    [
      'a name that a terminal may carry out',
      register,
      JSON.stringify({ device, '\x1b]0;': 1 }),
      {},
      ['a field with an odd name'],
    ],
    [
      'headers like Idempotency-Key',
      comments,
      comment,
      { 'X-Idempotency-Key': '1' },
      ['the header x-idempotency-key'],
    ],
    [
      'Idempotency-Key where it has no effect',
      register,
      JSON.stringify({ device }),
      { 'Idempotency-Key': '1' },
      ['the header idempotency-key'],
    ],
    [
      'no parameter that says who the client is',
      token,
      'grant_type=client_credentials&client_id=c&client_assertion=a&client_assertion_type=t',
      {},
      [],
    ],
    ['nor one of a public client that revokes', revoke, 'token=x&client_id=c', {}, []],
    ['nothing that is read', comments, comment, { 'Idempotency-Key': '1' }, []],
    ['nothing of what is no JSON', comments, '{', {}, []],
  ])('is reported with what has no effect: %s', async (_, path, body, headers, ignored) => {
    const isForm = path === token || path === revoke;
    const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json';
    await send(path, { method: 'POST', body, headers: { 'content-type': type, ...headers } });
    const [, names] = printed.at(-1)?.match(/ ms(?: \(ignored: (.*)\))?$/) ?? [];
    expect(names?.split(', ') ?? []).toEqual(ignored);
  });

  test('is reported without its query', async () => {
    await send('/v2/marketing/oauth/jwks?secret=1');
    expect(printed.at(-1)).toMatch(/^GET \/v2\/marketing\/oauth\/jwks 200 \d+ ms$/);
  });
});
