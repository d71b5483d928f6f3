import { describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { clock } from '../../lib/foundation/clock.ts';
import type { TrustedIssuer } from '../../lib/providers/jwt/issuer.ts';
import { startOwnTable } from '../support/own-table.ts';

// The examples of OpenID Connect Core 1.0, appendix A, signed with the key of A.7.
const encodedHeader = 'eyJraWQiOiIxZTlnZGs3IiwiYWxnIjoiUlMyNTYifQ';
const [signatureOfA2, signatureOfA3] = [
  'NTibBYW_ZoNHGm4ZrWCqYA9oJaxr1AVrJCze6FEcac4t_EOQiJFbD2nVEPkUXPuMshKjjTn7ESLIFUnfHq8UKTGibIC8uqrBgQAcUQFMeWeg-PkLvDTHk43Dn4_aNrxhmWwMNQfkjqx3wd2Fvta9j8yG2Qn790Gwb5psGcmBhqMJUUnFrGpyxQDhFIzzodmPokM7tnUxBNj-JuES_4CE-BvZICH4jKLp0TMu-WQsVst0ss-vY2RPdU1MzL59mq_eKk8Rv9XhxIr3WteA2ZlrgVyT0cwH3hlCnRUsLfHtIEb8k1Y_WaqKUu3DaKPxqRi6u0rN7RO2uZYPzC454xe-mg',
  'kdqTmftlaXg5WBYBr1wkxhkqCGZPc0k8vTiV5g2jj67jQ7XkrDamYx2bOkZLdZrpMPIzkdYB1nZI_G8vQGQuamRhJcEIt21kblGPZ-yhEhdkAiZIZLu38rChalDS2Mh0glE_rke5XXRhmqqoEFFdziFdnO3p61-7y51co84OEAZvARSINQaOWIzvioRfs4zwIFOaT33Vpxfqr8HDyh31zo9eBW2dSQuCa071z0ENWChWoPliK1JCo_Bk9eDg2uwo2ZwhsvHzj6TMQ0lYOTzufSlSmXIKfjlOsb3nftQeR697_hA-nMZyAdL8_NRfaC37XnAbW8WB9wCfECp7cuNuOg',
];
/** The claims as they were signed: with their line breaks. */
const claimsOf = (...more: string[]): string =>
  Buffer.from(
    `{\n ${['"iss": "https://server.example.com"', '"sub": "248289761001"', '"aud": "s6BhdRkqt3"', '"nonce": "n-0S6_WzA2Mj"', '"exp": 1311281970', '"iat": 1311280970', ...more].join(',\n ')}\n}`,
  ).toString('base64url');
const a2 = `${encodedHeader}.${claimsOf(
  '"name": "Jane Doe"',
  '"given_name": "Jane"',
  '"family_name": "Doe"',
  '"gender": "female"',
  '"birthdate": "0000-10-31"',
  '"email": "janedoe@example.com"',
  '"picture": "http://example.com/janedoe/me.jpg"',
)}.${signatureOfA2}`;
const a3 = `${encodedHeader}.${claimsOf('"at_hash": "77QmUPtjPfzWtF2AnpK9RQ"')}.${signatureOfA3}`;
const a3AccessToken = 'jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y';
const a7Key = {
  kty: 'RSA',
  kid: '1e9gdk7',
  n: 'w7Zdfmece8iaB0kiTY8pCtiBtzbptJmP28nSWwtdjRu0f2GFpajvWE4VhfJAjEsOcwYzay7XGN0b-X84BfC8hmCTOj2b2eHT7NsZegFPKRUQzJ9wW8ipn_aDJWMGDuB1XyqT1E7DYqjUCEOD1b4FLpy_xPn6oV_TYOfQ9fZdbE5HGxJUzekuGcOKqOQ8M7wfYHhHHLxGpQVgL0apWuP2gDDOdTtpuld4D2LK1MZK99s9gaSjRHE8JDb1Z4IGhEcEyzkxswVdPndUWzfvWBBWXWxtSUvQGBRkuy1BHOa4sP6FKjWEeeF7gm7UMs2Nm2QUgNZw6xvEDGaLk4KASdIxRQ',
  e: 'AQAB',
};

/**
 * The example of Google's page about OpenID Connect: claims without a signature. Their names are
 * Google's, the key is ours.
 */
const googleClaims = {
  iss: 'https://accounts.google.com',
  azp: '1234987819200.apps.googleusercontent.com',
  aud: '1234987819200.apps.googleusercontent.com',
  sub: '10769150350006150715113082367',
  at_hash: 'HK6E_P6Dh8Y93mRNtsDB1Q',
  hd: 'example.com',
  email: 'jsmith@example.com',
  email_verified: 'true',
  iat: 1353601026,
  exp: 1353604926,
  nonce: '0394852-3190485-2490358',
};

await startOwnTable();
const { verifyIdToken } = await import('../../lib/providers/oidc/verify.ts');
const { putItem } = await import('../../lib/storage/items.ts');
const { issuerKeysItem } = await import('../../lib/providers/jwt/issuer-keys.ts');

/** Puts an issuer's key where release 1.0.0 would have put it at that time, and in its form. */
const knowKey = (issuer: string, key: JWK, seconds: number) =>
  putItem(issuerKeysItem(issuer), {
    key_set: { keys: [{ ...key, kty: 'RSA' }] },
    fetched_at: seconds * 1000,
  });
await knowKey('https://server.example.com', a7Key, 1311280970);
const { privateKey, publicKey } = await generateKeyPair('RS256');
await knowKey(
  'https://accounts.google.com',
  { ...(await exportJWK(publicKey)), kid: 'g' },
  googleClaims.iat,
);
const signAsGoogle = (claims: JWTPayload): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'g' }).sign(privateKey);

const at = (seconds: number): void => {
  clock.now = () => new Date(seconds * 1000);
};

describe('the id tokens of OpenID Connect Core 1.0, appendix A', () => {
  const trusted: TrustedIssuer[] = [
    { issuer: 'https://server.example.com', audiences: ['s6BhdRkqt3'], nonce: 'required' },
  ];
  const jane = { namespace: 'https://server.example.com', subject: '248289761001' };
  const nonce = 'n-0S6_WzA2Mj';

  test('count while they are valid, with their nonce and access token', async () => {
    at(1311281000);
    expect(await verifyIdToken(trusted, { id_token: a2, nonce })).toEqual(jane);
    expect(
      await verifyIdToken(trusted, { id_token: a3, nonce, access_token: a3AccessToken }),
    ).toEqual(jane);
  });

  test('are rejected with anything else', async () => {
    at(1311281000);
    const expectRefusal = (
      sent: Parameters<typeof verifyIdToken>[1],
      code: string,
      reason?: string,
    ) =>
      expect(verifyIdToken(trusted, sent)).rejects.toMatchObject({
        code,
        ...(reason && { detail: { reason } }),
      });
    await expectRefusal({ id_token: a2 }, 'invalid_request');
    await expectRefusal({ id_token: a2, nonce: 'x' }, 'invalid_grant', 'nonce_mismatch');
    await expectRefusal(
      { id_token: a3, nonce, access_token: 'x' },
      'invalid_grant',
      'other_access_token',
    );
    at(1311281970 + 61);
    await expectRefusal({ id_token: a2, nonce }, 'invalid_grant', 'id_token_expired');
  });
});

describe("Google's spellings of its issuer", () => {
  const trusted: TrustedIssuer[] = [
    { issuer: 'https://accounts.google.com', audiences: [googleClaims.aud], nonce: 'optional' },
  ];

  const spelt = async (iss: string) => {
    at(googleClaims.iat);
    const id_token = await signAsGoogle({ ...googleClaims, iss });
    return verifyIdToken(trusted, { id_token, nonce: googleClaims.nonce });
  };

  test.each(['https://accounts.google.com', 'accounts.google.com', 'https://accounts.google.com/'])(
    '%s is Google',
    async (iss) => {
      const identity = { namespace: 'https://accounts.google.com', subject: googleClaims.sub };
      expect(await spelt(iss)).toEqual(identity);
    },
  );

  test.each(['http://accounts.google.com', 'https://accounts.google.com//', 'Accounts.google.com'])(
    '%s is not',
    async (iss) => {
      await expect(spelt(iss)).rejects.toMatchObject({
        detail: { reason: 'issued_by_another_issuer' },
      });
    },
  );
});
