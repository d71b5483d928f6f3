import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { sharedService } from '../support/service.ts';

const service = sharedService();

test('GET /openapi.json: the committed document, with the address of the service; anybody may cache it', async () => {
  const { status, headers, body } = await service.call('/openapi.json');
  const { body: metadata } = await service.call('/.well-known/oauth-authorization-server');
  expect(status).toBe(200);
  expect(headers.get('cache-control')).toBe('public, max-age=3600');
  const committed = JSON.parse(readFileSync('docs/openapi.json', 'utf8'));
  expect(body).toEqual({ ...committed, servers: [{ url: metadata.issuer }] });
});
