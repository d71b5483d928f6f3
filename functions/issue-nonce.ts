import * as v from 'valibot';
import { anyClient } from '../lib/http/auth/login-app-client.ts';
import { form } from '../lib/http/body.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { requireEnabled } from '../lib/login-apps/clients.ts';
import { loginNonceLifetime, newNonce } from '../lib/providers/service-nonce.ts';
import { countField } from '../lib/schema/json-schema.ts';
import { clientIdParameter } from '../lib/tokens/dpop-proof.ts';
import { noncePath } from '../lib/tokens/issuer.ts';

export const { endpoint, handler } = serve({
  route: `POST ${noncePath}`,
  isBusy: true,
  authenticate: anyClient,
  body: form(v.object(clientIdParameter)),
  secrets: ['refresh-tokens'],
  callsProviders: true,
  writes: false,
  handle: async ({ caller: { loginAppId } }) => {
    await requireEnabled(loginAppId);
    const nonce = await newNonce('login', loginAppId, loginNonceLifetime);
    return ok({ nonce, expires_in: loginNonceLifetime });
  },
  document: !process.env.BUNDLED && {
    summary: 'Makes a nonce for the next id token of a person',
    description:
      "The app passes it, or its SHA-256 if the provider's library requires that, to the provider. It then sends the nonce together with the id token that contains it. It counts for one login, which the same phone or client may repeat after a lost response; an id token that has it counts nowhere without it. A public client needs one for each id token; for others, it takes the place of one that their server would have to remember.",
    tag: 'Tokens',
    responses: {
      200: {
        description: 'A nonce, for one login in this Login App.',
        body: v.object({
          nonce: v.string(),
          expires_in: v.pipe(
            countField,
            v.description('Seconds within which the login must come.'),
          ),
        }),
        example: { nonce: 'ln.1769846400.8Qv…', expires_in: loginNonceLifetime },
      },
    },
    errors: {
      invalid_request: {
        when: 'The body is no form, or `client_id` is repeated.',
        example: 'The parameter client_id is repeated.',
      },
      unauthorized_client: {
        when: 'The Login App is disabled.',
        example: 'The Login App is disabled.',
      },
    },
    example: { body: { client_id: 'CLIENT_ID' } },
  },
});
