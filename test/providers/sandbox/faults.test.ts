import { describe, expect, test } from '@jest/globals';
import * as v from 'valibot';
import { startSandbox } from '../../../infra/local/sandbox/sandbox.ts';
import type { ProviderId } from '../../../lib/providers/identifiers.ts';
import { getJson, ownSandbox, tokenInfoSettings } from '../../support/sandbox.ts';

const { sandbox } = ownSandbox();

async function setFault(provider: ProviderId, endpoint: string, fault: unknown): Promise<number> {
  const body = JSON.stringify({ endpoint, fault });
  return (await fetch(`${sandbox().url}/${provider}/fault`, { method: 'PUT', body })).status;
}

describe('faults and calls', () => {
  const url = () => v.parse(tokenInfoSettings, sandbox().settings.provider_d).user_info.url;

  test('a fault takes the place of the real answer until it is set to null', async () => {
    const fault = { status: 302, headers: { location: '/elsewhere' }, body: 'moved' };
    expect(await setFault('provider_d', 'user_info', fault)).toBe(204);
    const response = await fetch(url(), { redirect: 'manual' });
    expect([response.status, response.headers.get('location'), await response.text()]).toEqual([
      302,
      '/elsewhere',
      'moved',
    ]);
    await setFault('provider_d', 'user_info', null);
    expect((await fetch(url())).status).toBe(401);
  });

  test('a delay alone lets the real answer come late', async () => {
    await setFault('provider_d', 'user_info', { delay_ms: 60 });
    const asked = performance.now();
    expect((await fetch(url())).status).toBe(401);
    expect(performance.now() - asked).toBeGreaterThan(55);
    await setFault('provider_d', 'user_info', null);
  });

  test('a body can be as large as asked for', async () => {
    await setFault('provider_d', 'user_info', { repeat_body_bytes: 100_001 });
    expect(await (await fetch(url())).text()).toHaveLength(100_001);
    await setFault('provider_d', 'user_info', null);
  });

  test('a body can come byte by byte, until the sandbox is closed', async () => {
    const own = await startSandbox();
    const fault = JSON.stringify({ endpoint: 'jwks', fault: { drip: true } });
    await fetch(`${own.url}/provider_f/fault`, { method: 'PUT', body: fault });
    const reader = (await fetch(`${own.url}/provider_f/jwks`)).body?.getReader();
    expect((await reader?.read())?.value).toHaveLength(1);
    const [rest] = await Promise.allSettled([reader?.closed, own.close()]);
    expect(rest.status).toBe('rejected');
  });

  test('a fault that no endpoint of the provider could have is a 400', async () => {
    expect(await setFault('provider_d', 'jwks', { status: 500 })).toBe(400);
    expect(await setFault('provider_d', 'user_info', { colour: 'red' })).toBe(400);
    expect(await setFault('provider_d', 'user_info', { status: 99 })).toBe(400);
  });

  test('calls counts what each endpoint received, faults included', async () => {
    const own = await startSandbox();
    const none = { user_info: 0, audience_validation: 0, token: 0, verify: 0, discovery: 0, jwks: 0 };
    const calls = `${own.url}/provider_e/calls`;
    expect((await getJson(calls)).body).toEqual(none);
    await fetch(`${own.url}/provider_e/me`);
    await fetch(`${own.url}/provider_e/me`);
    await fetch(`${own.url}/provider_e/debug_token?input_token=x`);
    await fetch(`${own.url}/provider_e/credentials?subject=x`);
    expect((await getJson(calls)).body).toEqual({ ...none, user_info: 2, audience_validation: 1 });
    await own.close();
  });
});
