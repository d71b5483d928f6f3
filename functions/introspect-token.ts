import { confidentialClient } from '../lib/http/auth/login-app-client.ts';
import { form } from '../lib/http/body.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { parameters } from '../lib/schema/form-parameters.ts';
import { introspectionSchema, introspectToken } from '../lib/tokens/introspect-token.ts';
import { introspectionPath } from '../lib/tokens/issuer.ts';
import { tokenParameter } from '../lib/tokens/presented-token.ts';

export const { endpoint, handler } = serve({
  route: `POST ${introspectionPath}`,
  isBusy: true,
  authenticate: confidentialClient,
  body: form(parameters(tokenParameter)),
  table: { login_users: ['BatchGetItem'], signing_keys: ['GetItem'] },
  secrets: ['refresh-tokens'],
  callsProviders: true,
  writes: false,
  handle: async ({ caller, body }) => ok(await introspectToken(caller.loginAppId, body.token)),
  document: !process.env.BUNDLED && {
    summary: 'Says whether a token of the Login App is active (RFC 7662)',
    description:
      'For servers that must know whether a session has ended: a JWT alone stays valid until it expires. Tokens of other Login Apps are not active, and none is while the Login App is disabled.',
    tag: 'Tokens',
    responses: {
      200: {
        description: 'What the token says if it is active.',
        body: introspectionSchema,
        example: {
          active: true,
          token_type: 'bearer',
          token_use: 'login_user',
          scope: 'login_user',
          iss: 'https://login.example.com',
          aud: 'la_9hXq2m0c1KfYw8Zt5nVbEg',
          sub: 'lu_loI20-mhluRYq9pU3Yw8Zt5nVbEg2m0c1KfXq2m0c1',
          sid: 's_b2FyY3Q1bVbEgq9pU3Yw8Z',
          client_id: 'la_9hXq2m0c1KfYw8Zt5nVbEg.c_Zk3x8Zt5nVbEg2m0c1KfXq',
          auth_time: 1769846400,
          jti: 'at_m0c1KfXq2m0c1Kf9pU3Yw',
          iat: 1769846400,
          exp: 1769850000,
        },
      },
    },
    errors: {
      invalid_request: {
        when: 'The token is missing or repeated.',
        example: 'The parameter token is required.',
      },
    },
    example: { body: { token: 'ACCESS_TOKEN' } },
  },
});
