import { describe, expect, test } from '@jest/globals';
import { assertDocumented } from '../support/loaded-once.ts';

const always = { 'x-request-id': 'r', 'cache-control': 'no-store' };
const json = { ...always, 'content-type': 'application/json' };
const challenge = { 'www-authenticate': 'Basic realm="login app client", charset="UTF-8"' };
const badRequest = JSON.stringify({
  error: 'invalid_request',
  error_description: 'There is no grant_type.',
});
const unauthorized = JSON.stringify({
  error: 'invalid_client',
  error_description: 'The client is unknown.',
});
const noRoute = '{"message":"Not Found"}';

/** Holds a response against the document, as the tests' HTTP client does. */
const check = (
  [method, path]: [string, string],
  status: number,
  headers: Record<string, string>,
  text = '',
): void =>
  assertDocumented(
    method,
    `http://127.0.0.1${path}`,
    { status, headers: new Headers(headers) },
    text,
  );

const token: [string, string] = ['POST', '/v2/marketing/oauth/token'];
const user: [string, string] = ['DELETE', '/v2/marketing/login/user'];
const head: [string, string] = ['HEAD', '/v2/marketing/login/user'];
const nowhere: [string, string] = ['GET', '/v2/marketing/oauth/token'];

describe('a response as the document has it passes', () => {
  test.each<[string, Parameters<typeof check>]>([
    ['an error', [token, 400, json, badRequest]],
    ['an error with a challenge', [token, 401, { ...json, ...challenge }, unauthorized]],
    ['no body', [user, 204, always]],
    [
      'of the gateway, where no route is',
      [nowhere, 404, { 'content-type': 'application/json' }, noRoute],
    ],
    ['to a HEAD request', [head, 404, { 'content-type': 'application/json' }]],
  ])('%s', (_, given) => {
    expect(() => check(...given)).not.toThrow();
  });
});

describe('every other response fails the test that got it', () => {
  test.each<[string, Parameters<typeof check>]>([
    ['a status that is not listed', [token, 418, json, badRequest]],
    ['a field that is not listed', [token, 400, json, badRequest.replace('{', '{"more":1,')]],
    ['another media type', [token, 400, { ...json, 'content-type': 'text/html' }, badRequest]],
    ['no media type', [token, 400, always, badRequest]],
    ['no request id', [token, 400, { ...json, 'x-request-id': '' }, badRequest]],
    ['no challenge with a 401', [token, 401, json, unauthorized]],
    ['a challenge with a 400', [token, 400, { ...json, ...challenge }, badRequest]],
    ['a time to retry with a 400', [token, 400, { ...json, 'retry-after': '10' }, badRequest]],
    ['a body to a HEAD request', [head, 404, { 'content-type': 'application/json' }, noRoute]],
    ['a body with a 204', [user, 204, always, badRequest]],
    ['a success where no route is', [nowhere, 200, json, '{}']],
    [
      'another body where no route is',
      [nowhere, 404, { 'content-type': 'application/json' }, badRequest],
    ],
    ['a request id where no route is', [nowhere, 404, json, noRoute]],
  ])('%s', (_, given) => {
    expect(() => check(...given)).toThrow();
  });
});
