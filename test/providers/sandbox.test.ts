import { describe, expect, test } from '@jest/globals';
import { UnsecuredJWT } from 'jose';
import * as v from 'valibot';
import { parametersOf } from '../../lib/providers/parameters.ts';
import { type ProviderId, providerIds } from '../../lib/providers/provider-ids.ts';
import { sharedService } from '../support/service.ts';

const { sandbox_url } = sharedService().demo;

async function credentials(provider: string, query: Record<string, string>) {
  const response = await fetch(
    `${sandbox_url}/${provider}/credentials?${new URLSearchParams(query)}`,
  );
  return {
    status: response.status,
    body: v.parse(v.record(v.string(), v.string()), await response.json()),
  };
}

describe('the credentials of the sandbox', () => {
  const alsoIssued: Partial<Record<ProviderId, string[]>> = { provider_b: ['authorization_code'] };

  test.each(providerIds)('%s: are the required parameters of a token request', async (provider) => {
    const names = [...parametersOf(provider).required, ...(alsoIssued[provider] ?? [])].sort();
    const issued = await Promise.all([
      credentials(provider, { subject: 'alice' }),
      credentials(provider, { subject: 'alice', expired: 'true', audience: 'another-app' }),
    ]);
    for (const { status, body } of issued) {
      expect({ status, names: Object.keys(body).sort() }).toEqual({ status: 200, names });
    }
    for (const name of names) expect(issued[0].body[name]).not.toBe(issued[1].body[name]);
  });

  test.each<[string, Record<string, string>]>([
    ['subject', {}],
    ['subject', { subject: '' }],
    ['audience', { subject: 'alice', audience: 'x' }],
    ['expired', { subject: 'alice', expired: '1' }],
    ['issuer', { subject: 'alice', issuer: 'third' }],
    ['code_challenge', { subject: 'alice', code_challenge: 'x' }],
    ['claims', { subject: 'alice', claims: '{' }],
    ['claims', { subject: 'alice', claims: '3' }],
    ['expried', { subject: 'alice', expried: 'true' }],
  ])('a wrong %s is a 400 that names it: %j', async (name, query) => {
    const { status, body } = await credentials('provider_f', query);
    expect(status).toBe(400);
    expect(body.error_description).toContain(name);
  });

  test('are for no page of another site', async () => {
    const url = `${sandbox_url}/provider_f/credentials?subject=alice`;
    const statusFor = async (site: string) =>
      (await fetch(url, { headers: { 'sec-fetch-site': site } })).status;
    expect(await Promise.all(['cross-site', 'same-origin', 'none'].map(statusFor))).toEqual([
      403, 200, 200,
    ]);
  });

  test.each(['provider_z', '__proto__', 'constructor'])('%s is a 404', async (provider) => {
    expect((await credentials(provider, { subject: 'alice' })).status).toBe(404);
  });
});

describe('the notifications of the sandbox', () => {
  const { base_url, login_app } = sharedService().demo;
  const query = new URLSearchParams({
    to: `${base_url}/v2/marketing/providers/provider_f/notifications?login_app_id=${login_app.login_app_id}`,
    event: 'logout',
  });
  const address = `${sandbox_url}/provider_f/notifications?${query}`;

  test('are sent by a POST alone, which an image of a web page is not', async () => {
    const read = await fetch(address);
    expect([read.status, read.headers.get('allow')]).toEqual([405, 'POST']);
    expect((await fetch(address, { method: 'POST' })).status).toBe(200);
  });

  test("go nowhere but to the stack, nor does Google's stream of events", async () => {
    const payload = { iss: 'x', sub: 'x', exp: 4e9 };
    const aud = 'https://risc.googleapis.com/google.identity.risc.v1beta.RiscManagementService';
    const jwt = new UnsecuredJWT({ ...payload, aud }).encode();
    const update = (url: string) =>
      fetch(`${sandbox_url}/risc/v1beta/stream:update`, {
        method: 'POST',
        headers: { authorization: `Bearer ${jwt}` },
        body: JSON.stringify({ delivery: { url }, events_requested: [] }),
      });
    const elsewhere = await update('http://169.254.169.254/latest');
    expect([elsewhere.status, await elsewhere.text()]).toEqual([
      400,
      expect.stringContaining(base_url),
    ]);
  });
});
