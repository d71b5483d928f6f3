import * as v from 'valibot';
import { clientAt } from '../lib/http/auth/login-app-client.ts';
import { form } from '../lib/http/body.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { parameters } from '../lib/schema/form-parameters.ts';
import { clientIdParameter, proofHeaders } from '../lib/tokens/dpop-proof.ts';
import { revocationPath } from '../lib/tokens/issuer.ts';
import { tokenParameter } from '../lib/tokens/presented-token.ts';
import { revokeToken } from '../lib/tokens/revoke-token.ts';
import { proofErrors } from './shared/errors.ts';

export const { endpoint, handler } = serve({
  route: `POST ${revocationPath}`,
  authenticate: clientAt(revocationPath),
  body: form(parameters({ ...tokenParameter, ...clientIdParameter })),
  table: {
    login_users: ['GetItem', 'BatchGetItem', 'UpdateItem'],
    devices: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
    signing_keys: ['GetItem'],
  },
  secrets: ['refresh-tokens'],
  callsProviders: true,
  handle: async ({ caller, body }) => {
    await revokeToken(caller, body.token);
    return ok({}, await proofHeaders(caller));
  },
  document: !process.env.BUNDLED && {
    summary: 'Ends the session of a refresh token or access token (RFC 7009)',
    description:
      'Ends the session that the token belongs to, and that session alone, at once. Unknown and expired tokens are 200 as well (RFC 7009, section 2.2). For a public client every token is: those that it may not revoke stay as they are.',
    tag: 'Tokens',
    responses: {
      200: {
        description: 'The token is not valid, whether or not it was before.',
        body: v.object({}),
        example: {},
      },
    },
    errors: {
      ...proofErrors,
      invalid_request: {
        when: 'The token is missing or repeated or, for a client that is not public, was issued to another one.',
        example: 'The parameter token is required.',
      },
      unauthorized_client: {
        when: 'The client may use no grant; the description says what it may do.',
        example: 'The client may only introspect tokens.',
      },
      unsupported_token_type: {
        when: 'A Login App Token cannot be revoked here: it expires, or ends with its client.',
        example: 'A Login App Token cannot be revoked; it expires, or ends with its client.',
      },
    },
    example: { body: { token: 'REFRESH_TOKEN' } },
  },
});
