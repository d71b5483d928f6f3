import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { partsOf, readFunctions } from '../../infra/endpoints.ts';
import { expectError } from '../support/expectations.ts';
import { logLine } from '../support/log-lines.ts';
import { basic, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const newSecret = () => randomBytes(32).toString('hex');
const hashOf = (secret: string) => createHash('sha256').update(secret).digest('hex');
const [previous, current] = [newSecret(), newSecret()];

const { running, service, proxy } = await startServiceWithStore({
  ORIGIN_SECRET_HASHES: [previous, current].map(hashOf).join(','),
  METRICS_NAMESPACE: 'login',
  VIEWER_ADDRESS: 'trusted',
});
const { call, demo, form } = service;
const { endpoints } = readFunctions();
const client = basic(demo.login_app.client_id, demo.login_app.client_secret);

const rejected = {
  status: 403,
  error: 'forbidden',
  naming: 'Send requests to the public address of the service.',
};

const issueToken = (headers: Record<string, string>) =>
  form(
    '/v2/marketing/oauth/token',
    { grant_type: 'client_credentials' },
    { authorization: client, ...headers },
  );

describe('a deployment with an origin secret', () => {
  test.each([...endpoints.values()])(
    '$route without it: 403, and the store is not asked',
    async (endpoint) => {
      proxy.forget();
      const { method, path } = partsOf(endpoint);
      const url = path.replaceAll(/\{\w+\}/g, String(demo.access_request_id));
      expectError(await call(url, { method, headers: { authorization: client } }), rejected);
      expect(proxy.calls()).toEqual([]);
    },
  );

  test.each<[string, string]>([
    ['empty', ''],
    ['wrong', newSecret()],
    ['cut short', current.slice(0, -1)],
    ['the hash of it', hashOf(current)],
    ['in another case', current.toUpperCase()],
    ['both of them', `${previous},${current}`],
    ['__proto__', '__proto__'],
  ])('a secret that is %s: 403', async (_, secret) => {
    expectError(await issueToken({ 'x-origin-secret': secret }), rejected);
  });

  test.each([
    ['the previous one', previous],
    ['the current one', current],
  ])(
    '%s is accepted during a rotation, and only opens the way to authentication',
    async (_, secret) => {
      expect((await issueToken({ 'x-origin-secret': secret })).status).toBe(200);
      const stranger = {
        'x-origin-secret': secret,
        authorization: basic(demo.login_app.client_id, 'x'),
      };
      expectError(await issueToken(stranger), { status: 401, error: 'invalid_client' });
    },
  );

  test.each([
    ['198.51.100.7:46532', '198.51.100.7'],
    ['2001:db8::7:46532', '2001:db8::7'],
    ['198.51.100.7', undefined],
    ['somebody:46532', undefined],
  ])('the edge tells the address %s: the log has %s', async (told, source_ip) => {
    const { headers } = await issueToken({
      'x-origin-secret': current,
      'cloudfront-viewer-address': told,
      'x-forwarded-for': '203.0.113.66',
    });
    const line = await logLine(running, 'token_issued', {
      request_id: headers.get('x-request-id'),
    });
    expect(line.source_ip).toBe(source_ip);
  });

  test('an address that somebody without the secret tells is not in the log', async () => {
    const { headers } = await issueToken({ 'cloudfront-viewer-address': '198.51.100.7:46532' });
    const line = await logLine(running, 'token_refused', {
      request_id: headers.get('x-request-id'),
    });
    expect(line).not.toHaveProperty('source_ip');
  });

  test('the log has the reason, the metric counts it, and the secret stands nowhere', async () => {
    const secret = unique('guessed-secret');
    const { headers } = await call('/v1/rbac/access_requests', {
      method: 'POST',
      headers: { 'x-origin-secret': secret },
    });
    const line = await logLine(running, 'request_refused', {
      request_id: headers.get('x-request-id'),
    });
    expect(line).toMatchObject({
      error: 'forbidden',
      reason: 'origin_secret_wrong',
      RequestsRefused: 1,
    });
    expect(JSON.stringify(line._aws)).toContain('[],["reason"]');
    const output = running.output();
    for (const text of [secret, previous, current]) expect(output).not.toContain(text);
  });
});
