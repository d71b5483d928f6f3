import { createHash, createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { base64url, exportJWK, type JWK, SignJWT } from 'jose';
import { providerIds } from '../../lib/providers/provider-ids.ts';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import { selfSigned, startProviderStandIn } from '../support/provider-stand-in.ts';
import { sharedService, unique } from '../support/service.ts';
import { forgeries, type TakenToken, takenToken } from '../support/tokens.ts';

const service = sharedService();
const standIn = await startProviderStandIn();
const { credentials, demo, logIn, loginForm, token } = service;
const issuer = `${demo.sandbox_url}/provider_f`;
const invalidGrant = { status: 400, error: 'invalid_grant' };

const withJwts = await createLoginApp(service, unique('app'));
const audience_validation = { method: 'jwt', issuer, audiences: ['provider_f-our-app'] };
await service.setProvider(withJwts, 'provider_a', { audience_validation });

/** The JWTs that log people in: how an app gets one, and how it sends it. */
const kinds = {
  id_token: { query: {}, send: (id_token: string) => service.byIdToken(id_token) },
  access_token: {
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
  ['provider_f, an id token', 'id_token'],
  ['provider_a, an access token that is a JWT,', 'access_token'],
])('%s that somebody else has made', (_what, kind) => {
  const { send } = kinds[kind];
  let taken: TakenToken;

  beforeAll(async () => {
    const discovery = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
    const published = (await (await fetch(Object(discovery).jwks_uri)).json()) as { keys: JWK[] };
    taken = takenToken(await issue(kind), published);
    expectAnswer(await send(taken.token), 200, tokenResponse);
  });

  test.each(forgeries)('[%s] %s: 400 invalid_grant', async (_source, _form, forge) => {
    expectError(await send(await forge(taken)), invalidGrant);
  });

  test.each(['jku', 'x5u'])(
    '[RFC 8725 3.10] its key behind %s in the header: nobody asks the attacker for it',
    async (name) => {
      const privateKey = createPrivateKey(selfSigned);
      const certificate = new X509Certificate(selfSigned);
      const jwk = {
        ...(await exportJWK(certificate.publicKey)),
        kid: taken.header.kid,
        alg: 'ES256',
        use: 'sig',
      };
      const attacker = standIn.openScene();
      attacker.answer('jwks', { status: 200, body: { keys: [jwk] } });
      attacker.answer('certificate', { status: 200, body: certificate.toString() });
      const own = { [name]: `${attacker.url}/${name === 'jku' ? 'jwks' : 'certificate'}` };
      for (const header of [
        { ...taken.header, ...own },
        { alg: 'ES256', ...own },
      ]) {
        const forged = await new SignJWT(taken.claims).setProtectedHeader(header).sign(privateKey);
        expectError(await send(forged), invalidGrant);
      }
      expect([attacker.calls('jwks'), attacker.calls('certificate')]).toEqual([0, 0]);
    },
  );

  test('[CVE-2022-21449] claims or signatures of two tokens swapped: 400 invalid_grant', async () => {
    const [header, payload, signature] = taken.token.split('.');
    const [, otherPayload, otherSignature] = (await issue(kind)).split('.');
    expectError(await send(`${header}.${otherPayload}.${signature}`), invalidGrant);
    expectError(await send(`${header}.${payload}.${otherSignature}`), invalidGrant);
  });

  test.each([
    ['no dots', () => 'abc'],
    ['two dots alone', () => '..'],
    ['a header that is no JSON', () => `${base64url.encode('{')}.${encoded({})}.AAAA`],
    ['a header that is null', () => `${encoded(null)}.${encoded({})}.AAAA`],
    [
      'claims that are no JSON',
      () => `${encoded(taken.header)}.${base64url.encode('x')}.${'A'.repeat(86)}`,
    ],
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
  const other = randomBytes(32).toString('base64url');

  test.each<[string, string, Record<string, string>, Record<string, string>]>([
    ['RFC 9700 4.5', 'injected without the verifier of its challenge', { code_challenge }, {}],
    [
      'RFC 9700 4.5',
      'injected with the verifier of another login',
      { code_challenge },
      { code_verifier: other },
    ],
    [
      'RFC 9700 4.8',
      'downgraded to PKCE plain',
      { code_challenge },
      { code_verifier: code_challenge },
    ],
    ['RFC 9700 4.8', 'a verifier though the code has no challenge', {}, { code_verifier }],
  ])('[%s] %s', async (_source, _what, query, more) => {
    expectError(
      await token({ ...(await loginForm('provider_b', query, byCode)), ...more }),
      invalidGrant,
    );
  });
});
