import { issueToken } from './client';

// One provider stands for each protocol. Each line below an expected error must not compile: the
// compiler rejects an expectation that nothing meets.
const grant_type = 'provider_credentials';
const code_grant = 'provider_authorization_code';
const access_token = 'token';
const access_secret = 'secret';
const id_token = 'id token';
const nonce = 'nonce';
const authorization_code = 'code';
const code_verifier = 'code verifier';
const redirect_uri = 'https://app.example/';

export const rejected = [
  // @ts-expect-error OAuth 2.0 has no secret.
  () => issueToken({ body: { grant_type, provider: 'provider_a', access_token, access_secret } }),
  // @ts-expect-error OAuth 2.0 has no id token.
  () => issueToken({ body: { grant_type, provider: 'provider_a', access_token, id_token } }),
  () =>
    issueToken({
      // @ts-expect-error OAuth 1.0 has no id token.
      body: { grant_type, provider: 'provider_c', access_token, access_secret, id_token },
    }),
  // @ts-expect-error OAuth 1.0 needs the secret.
  () => issueToken({ body: { grant_type, provider: 'provider_c', access_token } }),
  // @ts-expect-error The secret alone is not enough.
  () => issueToken({ body: { grant_type, provider: 'provider_c', access_secret } }),
  // @ts-expect-error OIDC has no secret.
  () => issueToken({ body: { grant_type, provider: 'provider_f', id_token, access_secret } }),
  // @ts-expect-error OIDC needs the id token.
  () => issueToken({ body: { grant_type, provider: 'provider_f', access_token } }),
  // @ts-expect-error A nonce goes with an id token.
  () => issueToken({ body: { grant_type, provider: 'provider_a', access_token, nonce } }),
  () =>
    issueToken({
      // @ts-expect-error A nonce goes with an id token.
      body: { grant_type, provider: 'provider_c', access_token, access_secret, nonce },
    }),
  // @ts-expect-error These go with an authorization code.
  () => issueToken({ body: { grant_type, provider: 'provider_b', access_token, code_verifier } }),
  // @ts-expect-error
  () => issueToken({ body: { grant_type, provider: 'provider_b', access_token, redirect_uri } }),
  () =>
    // @ts-expect-error Only provider_b issues authorization codes.
    issueToken({ body: { grant_type: code_grant, provider: 'provider_a', authorization_code } }),
  // @ts-expect-error There is no such grant.
  () => issueToken({ body: { grant_type: 'password' } }),
];

export const accepted = [
  () =>
    issueToken({ body: { grant_type: code_grant, provider: 'provider_b', authorization_code } }),
  () => issueToken({ body: { grant_type, provider: 'provider_a', access_token } }),
  () => issueToken({ body: { grant_type, provider: 'provider_c', access_token, access_secret } }),
  () => issueToken({ body: { grant_type, provider: 'provider_f', id_token } }),
  () => issueToken({ body: { grant_type, provider: 'provider_f', id_token, access_token } }),
  () => issueToken({ body: { grant_type, provider: 'provider_f', id_token, nonce } }),
  () =>
    issueToken({
      body: { grant_type, provider: 'provider_f', id_token, authorization_code, code_verifier },
    }),
];
