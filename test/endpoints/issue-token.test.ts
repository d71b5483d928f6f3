import { describe, expect, test } from '@jest/globals';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();

describe('POST /v2/marketing/oauth/token', () => {
  test.each(['provider_a', 'provider_b', 'provider_c', 'provider_d', 'provider_e', 'provider_f'])(
    'grant_type provider_credentials, %s: 200 with the token response',
    async (provider) => {
      const { status, body, headers } = await service.logIn(unique('alice'), provider);
      expect({ status, body }).toEqual({
        status: 200,
        body: {
          access_token: expect.any(String),
          token_type: 'bearer',
          expires_in: 3600,
          refresh_token: expect.any(String),
        },
      });
      expect(headers.get('cache-control')).toBe('no-store');
    },
  );
});
