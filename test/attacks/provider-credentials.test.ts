import { createHash, createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import {
  base64url,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { createLoginApp, type LoginApp } from '../support/login-app.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { selfSigned } from '../support/self-signed.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();
const { credentials, demo, logIn, loginForm, token } = service;
const issuer = `${demo.sandbox_url}/provider_f`;
const invalidGrant = { status: 400, error: 'invalid_grant' };

let withJwts: LoginApp;

beforeAll(async () => {
  withJwts = await createLoginApp(service, unique('app'));
  const audience_validation = { method: 'jwt', issuer, audiences: ['provider_f-our-app'] };
  await service.setProvider(withJwts, 'provider_a', { audience_validation });
});

/** The JWTs that log people in: how an app gets one, and how it sends it. */
const kinds = {
  id_token: {
    what: 'provider_f, an id token',
    query: {},
    send: (id_token: string) =>
      token({ grant_type: 'provider_credentials', provider: 'provider_f', id_token }),
  },
  access_token: {
    what: 'provider_a, an access token that is a JWT,',
    query: { with_access_token: 'jwt' },
    send: (access_token: string) =>
      token({ grant_type: 'provider_credentials', provider: 'provider_a', access_token }, withJwts),
  },
} as const;
type Kind = keyof typeof kinds;
const issue = async (kind: Kind): Promise<string> =>
  (await credentials('provider_f', { subject: unique('alice'), ...kinds[kind].query }))[kind] ?? '';

const encoded = (value: unknown): string => base64url.encode(JSON.stringify(value));

const byCode = 'provider_authorization_code';
const grants = [
  ...providerIds.map((provider): [string, string] => [provider, 'provider_credentials']),
  ['provider_b', byCode] satisfies [string, string],
];

describe.each<[string, Kind]>([
  [kinds.id_token.what, 'id_token'],
  [kinds.access_token.what, 'access_token'],
])('%s that somebody else has made', (_what, kind) => {
  const { send } = kinds[kind];
  let publicJwk: JWK;
  let validHeader: JWTHeaderParameters;
  let validClaims: JWTPayload;

  beforeAll(async () => {
    const discovery = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
    const { keys } = (await (await fetch(Object(discovery).jwks_uri)).json()) as { keys: JWK[] };
    const valid = await issue(kind);
    validHeader = { alg: 'ES256', ...decodeProtectedHeader(valid) };
    validClaims = decodeJwt(valid);
    publicJwk = keys.find(({ kid }) => kid === validHeader.kid) ?? {};
    expectAnswer(await send(valid), 200, tokenResponse);
  });

  test.each(['none', 'None', 'NONE', 'nOnE', ''])(
    '[CVE-2015-9235] alg %j, unsigned: 400 invalid_grant',
    async (alg) => {
      const unsigned = `${encoded({ ...validHeader, alg })}.${encoded(validClaims)}.`;
      expectError(await send(unsigned), invalidGrant);
      expectError(await send(`${unsigned}${base64url.encode('signature')}`), invalidGrant);
      expectError(await send(unsigned.slice(0, -1)), invalidGrant);
    },
  );

  test.each(['HS256', 'HS384', 'HS512'])(
    '[CVE-2016-10555] %s signed with the public key: 400 invalid_grant',
    async (alg) => {
      const key = await importJWK(publicJwk, 'ES256', { extractable: true });
      if (key instanceof Uint8Array) throw new Error('The provider publishes no asymmetric key.');
      const spki = await exportSPKI(key);
      const secrets = [
        spki,
        `${spki}\n`,
        spki.trim(),
        spki.replace(/-----.*-----|\s/g, ''),
        JSON.stringify(publicJwk),
        publicJwk.x ?? '',
      ];
      for (const secret of secrets) {
        const forged = await new SignJWT(validClaims)
          .setProtectedHeader({ ...validHeader, alg })
          .sign(new TextEncoder().encode(secret));
        expectError(await send(forged), invalidGrant);
      }
    },
  );

  test.each(['ES256', 'RS256', 'PS256', 'EdDSA', 'ES384'])(
    '[RFC 8725 2.1] a foreign %s key under the same kid: 400 invalid_grant',
    async (alg) => {
      const { privateKey } = await generateKeyPair(alg);
      const forged = await new SignJWT(validClaims)
        .setProtectedHeader({ ...validHeader, alg })
        .sign(privateKey);
      expectError(await send(forged), invalidGrant);
    },
  );

  test('[RFC 8725 2.1] a foreign key under an unknown kid, or none: 400 invalid_grant', async () => {
    const { privateKey } = await generateKeyPair('ES256');
    for (const header of [{ alg: 'ES256', kid: 'another' }, { alg: 'ES256' }]) {
      const forged = await new SignJWT(validClaims).setProtectedHeader(header).sign(privateKey);
      expectError(await send(forged), invalidGrant);
    }
  });

  test.each(['jwk', 'jku', 'x5u', 'x5c'])(
    '[CVE-2018-0114] its key in the header (%s): 400 invalid_grant, and nobody asks the attacker for it',
    async (name) => {
      const [privateKey, certificate] = [createPrivateKey(selfSigned), new X509Certificate(selfSigned)];
      const jwk = {
        ...(await exportJWK(certificate.publicKey)),
        ...{ kid: validHeader.kid, alg: 'ES256', use: 'sig' },
      };
      const attacker = standIn.openScene();
      attacker.answer('jwks', { status: 200, body: { keys: [jwk] } });
      attacker.answer('certificate', { status: 200, body: certificate.toString() });
      const values = {
        jwk,
        jku: `${attacker.url}/jwks`,
        x5u: `${attacker.url}/certificate`,
        x5c: [certificate.raw.toString('base64')],
      };
      const own = { [name]: Reflect.get(values, name) };
      for (const header of [
        { ...validHeader, ...own },
        { alg: 'ES256', ...own },
      ]) {
        const forged = await new SignJWT(validClaims).setProtectedHeader(header).sign(privateKey);
        expectError(await send(forged), invalidGrant);
      }
      expect([attacker.calls('jwks'), attacker.calls('certificate')]).toEqual([0, 0]);
    },
  );

  test('[CVE-2022-21449] claims swapped under a valid signature, or r = s = 0: 400 invalid_grant', async () => {
    const [mine = '', other = ''] = await Promise.all([issue(kind), issue(kind)]);
    const [header, payload, signature] = mine.split('.');
    const [, otherPayload, otherSignature] = other.split('.');
    const another = encoded({ ...decodeJwt(mine), sub: 'somebody-else' });
    expectError(await send(`${header}.${otherPayload}.${signature}`), invalidGrant);
    expectError(await send(`${header}.${payload}.${otherSignature}`), invalidGrant);
    expectError(await send(`${header}.${another}.${signature}`), invalidGrant);
    expectError(await send(`${header}.${payload}.`), invalidGrant);
    expectError(await send(`${header}.${payload}.${'A'.repeat(86)}`), invalidGrant);
  });

  test.each([
    ['no dots', () => 'abc'],
    ['two dots alone', () => '..'],
    ['five parts', () => 'a.b.c.d.e'],
    ['a header that is no JSON', () => `${base64url.encode('{')}.${encoded({})}.AAAA`],
    ['a header that is null', () => `${encoded(null)}.${encoded({})}.AAAA`],
    ['a header that is a list', () => `${encoded([])}.${encoded({})}.AAAA`],
    ['a kid that is no text', () => `${encoded({ alg: 'ES256', kid: 7 })}.${encoded(validClaims)}.AAAA`],
    ['an alg that is no text', () => `${encoded({ alg: ['ES256'] })}.${encoded(validClaims)}.AAAA`],
    [
      'the kid __proto__',
      () => `${encoded({ alg: 'ES256', kid: '__proto__' })}.${encoded(validClaims)}.${'A'.repeat(86)}`,
    ],
    ['claims that are no JSON', () => `${encoded(validHeader)}.${base64url.encode('x')}.${'A'.repeat(86)}`],
  ])('[RFC 8725 3.3] %s: 400 invalid_grant', async (_, text) => {
    expectError(await send(text()), invalidGrant);
  });

  test("[RFC 8725 2.8] the service's own Login User Token: 400 invalid_grant", async () => {
    const { access_token } = (await logIn(unique('alice'))).body;
    expectError(await send(access_token), invalidGrant);
  });
});

describe('a JWT of one kind is none of another', () => {
  test('[RFC 8725 3.11] an id token as an access token, and the reverse: 400 invalid_grant', async () => {
    expectError(await kinds.access_token.send(await issue('id_token')), invalidGrant);
    expectError(await kinds.id_token.send(await issue('access_token')), invalidGrant);
  });
});

describe('a credential that was not issued to this app counts at no provider, by no grant', () => {
  test.each<[string, string, Record<string, string>]>([
    ['CVE-2013-4593', "another app's credential", { audience: 'another-app' }],
    ['RFC 9700 4.10', 'an expired credential', { expired: 'true' }],
  ])('[%s] %s', async (_source, _what, query) => {
    for (const [provider, grant] of grants)
      expectError(await token(await loginForm(provider, query, grant)), invalidGrant);
  });

  test.each(['provider_a', 'provider_d', 'provider_e'])(
    '[RFC 9700 4.4] a credential of %s elsewhere',
    async (from) => {
      for (const [provider, grant] of grants.filter(([id]) => id !== from)) {
        const { access_token = '' } = await credentials(from, { subject: unique('mallory') });
        const form = await loginForm(provider, {}, grant);
        for (const name of ['access_token', 'id_token', 'authorization_code']) {
          if (name in form) form[name] = access_token;
        }
        expectError(await token(form), invalidGrant);
      }
    },
  );
});

describe('provider_b, authorization_code', () => {
  test('[RFC 9700 4.5] the second use of a code: 400 invalid_grant', async () => {
    const form = await loginForm('provider_b', {}, byCode);
    expectAnswer(await token(form), 200, tokenResponse);
    expectError(await token(form), invalidGrant);
  });

  test('[RFC 6749 10.5] of eight uses at once at most one gets a token', async () => {
    const form = await loginForm('provider_b', {}, byCode);
    const answers = await Promise.all(Array.from({ length: 8 }, () => token(form)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(1);
    for (const answer of answers) if (answer.status !== 200) expectError(answer, invalidGrant);
  });
});

describe('provider_c', () => {
  test("[RFC 5849 3.2] another token's secret: 400 invalid_grant", async () => {
    const [mine, other] = await Promise.all([
      loginForm('provider_c'),
      credentials('provider_c', { subject: unique('bob') }),
    ]);
    expectError(await token({ ...mine, access_secret: other.access_secret ?? '' }), invalidGrant);
  });
});

describe('a code that was made for another login', () => {
  const code_verifier = randomBytes(32).toString('base64url');
  const code_challenge = createHash('sha256').update(code_verifier).digest('base64url');
  const withCode = async (query: Record<string, string>, more: Record<string, string> = {}) =>
    token({ ...(await loginForm('provider_b', query, byCode)), ...more });

  test('[RFC 9700 4.5] injected without the verifier of its challenge', async () => {
    expectError(await withCode({ code_challenge }), invalidGrant);
  });

  test('[RFC 9700 4.5] injected with the verifier of another login', async () => {
    const other = randomBytes(32).toString('base64url');
    expectError(await withCode({ code_challenge }, { code_verifier: other }), invalidGrant);
  });

  test('[RFC 9700 4.8] downgraded to PKCE plain', async () => {
    expectError(await withCode({ code_challenge }, { code_verifier: code_challenge }), invalidGrant);
  });

  test('[RFC 9700 4.8] a verifier though the code has no challenge', async () => {
    expectError(await withCode({}, { code_verifier }), invalidGrant);
  });

  test.each(['https://evil.example', 'https://app.example.evil.example/callback', '//evil.example'])(
    '[RFC 9700 4.1] sent to the redirect URI %s',
    async (redirect_uri) => {
      expectError(await withCode({}, { redirect_uri }), { status: 400, error: 'invalid_request' });
    },
  );

  test('[RFC 9700 4.4] of one provider, as that of another', async () => {
    for (const provider of providerIds.filter((id) => id !== 'provider_b')) {
      const form = await loginForm('provider_b', {}, byCode);
      expectError(await token({ ...form, provider }), { status: 400, error: 'invalid_request' });
    }
  });
});
