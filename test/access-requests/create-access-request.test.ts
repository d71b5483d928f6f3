import { describe, expect, test } from '@jest/globals';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();

describe('POST /v1/rbac/access_requests', () => {
  test('201 with id, an integer, and created_at', async () => {
    const { status, body, headers } = await service.createAccessRequest();
    expect({ status, body }).toEqual({
      status: 201,
      body: { id: expect.any(Number), created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) },
    });
    expect(Number.isInteger(body.id)).toBe(true);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('it has no events, and the account has access, no other', async () => {
    const { id } = (await service.createAccessRequest()).body;
    const { status, body } = await service.search('', { id });
    expect({ status, body }).toEqual({ status: 200, body: { total: 0, offset: 0, count: 0, results: [] } });
    expect((await service.search('', { id, account: service.demo.other_account })).status).toBe(403);
  });

  test('401 when the authentication is wrong', async () => {
    const account = { ...service.demo.account, account_secret: 'another' };
    const { status, body, headers } = await service.createAccessRequest({ account });
    expect({ status, body }).toEqual({
      status: 401,
      body: { error: 'unauthorized', error_description: expect.any(String) },
    });
    expect(headers.get('www-authenticate')).toMatch(/^Basic /);
  });
});

describe('POST /v1/rbac/access_requests with an Idempotency-Key', () => {
  test('the same key answers the same access request', async () => {
    const headers = { 'idempotency-key': unique('key') };
    const first = await service.createAccessRequest({ headers });
    const second = await service.createAccessRequest({ headers });
    expect(second).toMatchObject({ status: 201, text: first.text });
  });

  test('400 when the key is longer than 255 characters', async () => {
    const headers = { 'idempotency-key': 'k'.repeat(256) };
    const { status, body } = await service.createAccessRequest({ headers });
    expect({ status, body }).toEqual({
      status: 400,
      body: {
        error: 'invalid_request',
        error_description: 'The header Idempotency-Key must have 1 to 255 characters.',
      },
    });
  });
});
