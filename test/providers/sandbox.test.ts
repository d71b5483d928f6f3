import { describe, expect, test } from '@jest/globals';
import * as v from 'valibot';
import { parametersOf } from '../../lib/providers/parameters.ts';
import { type ProviderId, providerIds } from '../../lib/providers/provider-ids.ts';
import { sharedService } from '../support/service.ts';

const { sandbox_url } = sharedService().demo;

async function credentials(provider: string, query: Record<string, string>) {
  const response = await fetch(`${sandbox_url}/${provider}/credentials?${new URLSearchParams(query)}`);
  return { status: response.status, body: v.parse(v.record(v.string(), v.string()), await response.json()) };
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

  test.each(['provider_z', '__proto__', 'constructor'])('%s is a 404', async (provider) => {
    expect((await credentials(provider, { subject: 'alice' })).status).toBe(404);
  });
});
