import { clientAt } from '../lib/http/auth/login-app-client.ts';
import { form } from '../lib/http/body.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { proofHeaders } from '../lib/tokens/dpop-proof.ts';
import { invalidTokenRequest, issueToken, tokenRequestSchema } from '../lib/tokens/issue-token.ts';
import { tokenPath } from '../lib/tokens/issuer.ts';
import { tokenResponseSchema } from '../lib/tokens/token-response.ts';
import { proofErrors, providerNotAllowed, throttledByProvider } from './shared/errors.ts';

export const { endpoint, handler } = serve({
  route: `POST ${tokenPath}`,
  isBusy: true,
  authenticate: clientAt(tokenPath),
  body: form(tokenRequestSchema, invalidTokenRequest),
  table: {
    login_users: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
    devices: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
    signing_keys: ['GetItem'],
    issuer_keys: ['PutItem'],
    // With BatchGetItem, the two actions are on the same kinds and share a statement of the policy.
    used_once: ['BatchGetItem', 'UpdateItem'],
  },
  secrets: ['signing-keys', 'refresh-tokens', 'provider-settings'],
  callsProviders: true,
  asksLoginHook: true,
  errorEvent: 'token_refused',
  handle: async ({ caller, body }) => {
    const tokens = await issueToken(caller, body);
    return ok(tokens, await proofHeaders(caller));
  },
  document: !process.env.BUNDLED && {
    summary: 'Logs people in, lets guests begin, refreshes sessions and issues other tokens',
    description: [
      'The form depends on `grant_type`:',
      '',
      '- `provider_credentials` and `provider_authorization_code` log a person in.',
      '- `refresh_token` continues their session with the next refresh token.',
      '- `client_credentials` issues a Login App Token, which has no refresh token. With `scope=recipients`, it reads recipients.',
      '- `guest` begins without an account, where an operator lets guests into the Login App. The tokens have the claim `guest`, until an identity is linked.',
      '- `urn:ietf:params:oauth:grant-type:token-exchange` (RFC 8693) gets a server an access token of the provider, where the settings keep its tokens: for a Login User Token of the person, or for their id. It never gets a refresh token.',
      '',
      'Any other `scope` changes nothing: if it asks for another one than the token has, the answer names the latter.',
      '',
      'A server authenticates its client. An app without one is a public client, which sends its `client_id` and a proof of its key instead: a phone cannot keep a secret.',
    ].join('\n'),
    tag: 'Tokens',
    responses: {
      200: {
        description: 'The tokens.',
        body: tokenResponseSchema,
        example: {
          access_token: 'eyJhbGciOi…',
          token_type: 'bearer',
          expires_in: 3600,
          refresh_token: 'rt.lu_…',
          refresh_token_expires_in: 2_592_000,
        },
        links: {
          Refresh: {
            operationId: 'issue-token',
            description: 'The refresh token gets the next tokens. `client_credentials` has none.',
            requestBody: {
              grant_type: 'refresh_token',
              refresh_token: '$response.body#/refresh_token',
            },
          },
          Revoke: {
            operationId: 'revoke-token',
            description:
              'Revoking the refresh token ends the session: the service accepts none of its tokens any longer.',
            requestBody: { token: '$response.body#/refresh_token' },
          },
          Introspect: {
            operationId: 'introspect-token',
            description: 'A server can ask whether the access token is still active.',
            requestBody: { token: '$response.body#/access_token' },
          },
        },
      },
    },
    errors: {
      ...proofErrors,
      invalid_request: {
        when: 'A parameter is missing, repeated, forbidden or malformed; the description names it. Or the provider is not set up for the Login App, or HTTP Basic comes with a client assertion. In a token exchange, also: the `subject_token` is not a valid Login User Token of the Login App, or it has no such Login User.',
        example: 'The parameter provider is required.',
      },
      unsupported_grant_type: {
        when: 'There is no such grant type.',
        example:
          'The grant_type must be one of provider_credentials, provider_authorization_code, refresh_token, client_credentials, guest, urn:ietf:params:oauth:grant-type:token-exchange.',
      },
      unauthorized_client: {
        when: `The client may not use this grant, read recipients or get tokens of providers, its Login App lets in no guests, or it is disabled. Only the operator can change that. Or: ${providerNotAllowed.when}`,
        example: 'The client may not use the grant client_credentials.',
      },
      invalid_grant: {
        when: 'The credential, the authorization code or the refresh token is not accepted, the nonce has been used by another login, the login hook refuses, the person is blocked, or they are new and the Login App lets nobody new in. In a token exchange: no token of the provider is kept for the person, or the provider no longer accepts it. Let the person log in again.',
        example: 'The provider does not accept this credential for this Login App.',
      },
      invalid_target: {
        when: 'The `audience` of a token exchange is no provider or issuer of the Login App, or its settings keep no tokens.',
        example:
          'The audience must be a provider of the Login App, or one of its issuers, whose settings have keep_tokens.',
      },
      too_many_requests: {
        ...throttledByProvider,
        when: `${throttledByProvider.when} Or the client has exchanged too many tokens in this minute. Or the key, the client or the Login App has begun too many guests in this hour. \`Retry-After\` says how long.`,
      },
      temporarily_unavailable: {
        when: 'The service was deployed a moment ago and has no signing key yet, or the login hook gave no answer to a refresh, whose session goes on. Or the provider did not answer when its token was to be refreshed; nothing is lost. Or too many others are writing the same at once. Send the request again.',
        example: 'The service has no signing key yet; send the request again in a minute.',
      },
    },
    example: {
      bodies: {
        'OAuth 2.0 access token': {
          grant_type: 'provider_credentials',
          provider: 'provider_a',
          access_token: 'PROVIDER_ACCESS_TOKEN',
        },
        'OAuth 1.0 token and secret': {
          grant_type: 'provider_credentials',
          provider: 'provider_c',
          access_token: 'PROVIDER_OAUTH1_TOKEN',
          access_secret: 'PROVIDER_OAUTH1_SECRET',
        },
        'OIDC id token': {
          grant_type: 'provider_credentials',
          provider: 'provider_f',
          id_token: 'PROVIDER_ID_TOKEN',
        },
        'Authorization code': {
          grant_type: 'provider_authorization_code',
          provider: 'provider_b',
          authorization_code: 'AUTHORIZATION_CODE',
        },
        'Refresh token': { grant_type: 'refresh_token', refresh_token: 'REFRESH_TOKEN' },
        'Client credentials': { grant_type: 'client_credentials' },
        Guest: { grant_type: 'guest' },
        'Token exchange': {
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          audience: 'provider_b',
          subject_token: 'LOGIN_USER_TOKEN',
          subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        },
      },
    },
  },
});
