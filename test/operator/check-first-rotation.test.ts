import { describe, expect, test } from '@jest/globals';
import { serve } from '../../infra/local/loopback-server.ts';
import { checkService } from '../../infra/operator/check/check-service.ts';

/** Checks a service whose key set is empty the first `looks` times; it issues no tokens. */
async function checkWhileEmpty(looks: number, patience: number) {
  let asked = 0;
  const service = await serve(({ url = '' }, response) => {
    if (url.endsWith('/keys')) asked += 1;
    const keys = asked > looks ? [{ kty: 'EC', kid: 'first' }] : [];
    const metadata = {
      issuer: service.url,
      token_endpoint: `${service.url}/token`,
      jwks_uri: `${service.url}/keys`,
    };
    response.end(JSON.stringify(url.endsWith('/keys') ? { keys } : metadata));
  });
  const probe = {
    issuer: service.url,
    login_app_id: 'la',
    client_id: 'cl',
    client_secret: 'x',
    account_id: 'ac',
    account_secret: 'y',
    access_request_id: 1,
  };
  try {
    return { steps: await checkService(probe, { patience, pause: 1 }), asked };
  } finally {
    await service.close();
  }
}

describe('the check of a service whose keys have not been rotated yet', () => {
  test('waits for the first key, and goes on with it', async () => {
    const { steps, asked } = await checkWhileEmpty(3, 60_000);
    expect(asked).toBe(4);
    expect(steps.map(({ step }) => step)).toContain('token');
    expect(steps.find(({ step }) => step === 'signing keys')?.problem).toBeUndefined();
  });

  test('says where to look when there is still none, and stops there', async () => {
    const { steps } = await checkWhileEmpty(Number.POSITIVE_INFINITY, 0);
    expect(steps.at(-1)).toMatchObject({
      step: 'signing keys',
      problem: 'There was no key after 0 seconds: read the log of rotate-signing-keys.',
    });
  });
});
