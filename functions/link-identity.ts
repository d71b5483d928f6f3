import { loginUserToken } from '../lib/http/auth/login-user-token.ts';
import { form } from '../lib/http/body.ts';
import { created, ok, serve } from '../lib/http/serve.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';
import { shownIdentitySchema } from '../lib/people/identities/identities-of-person.ts';
import { linkIdentity } from '../lib/people/identities/link-identity.ts';
import {
  identityFormSchema,
  tooManyRejected,
  verifyNewIdentity,
} from '../lib/people/identities/new-identity.ts';
import { withReceivedToken } from '../lib/people/identities/store-token.ts';
import { askAboutLink } from '../lib/people/login-hook.ts';
import { identitiesPath } from '../lib/tokens/issuer.ts';
import { presenceHeaders, requirePresence } from '../lib/tokens/require-presence.ts';
import { presenceErrors, providerNotAllowed, throttledByProvider } from './shared/errors.ts';

const example = {
  id: 'i_b2FhJ7yDk4GqXe9AoMnC5t',
  provider: 'provider_b',
  linked_at: '2026-02-14T18:20:00.000Z',
};

export const { endpoint, handler } = serve({
  route: `POST ${identitiesPath}`,
  authenticate: loginUserToken,
  parameters: { headers: presenceHeaders },
  body: form(identityFormSchema),
  table: {
    login_users: ['GetItem', 'UpdateItem', 'DeleteItem'],
    issuer_keys: ['GetItem'],
    used_once: ['GetItem', 'PutItem'],
  },
  secrets: ['provider-settings', 'refresh-tokens'],
  callsProviders: true,
  asksLoginHook: true,
  idIs: 'identity_id',
  handle: async ({ caller, headers, body }) => {
    const user = requireActiveUser(caller);
    await requirePresence(caller, headers.dpop, { method: 'POST', path: identitiesPath });
    const { provider } = body;
    const place = { loginAppId: user.login_app_id, provider };
    const { isNew, identity } = await withReceivedToken(place, async (received) => {
      const person = await verifyNewIdentity(user, caller, body, received);
      const ask = () => askAboutLink(caller, provider, person);
      return linkIdentity(user, provider, person, { ask, received });
    });
    return isNew ? created(identity) : ok(identity);
  },
  document: !process.env.BUNDLED && {
    summary: 'Links another identity to the Login User',
    description:
      'Afterwards either identity logs in as the same Login User. The form proves the other identity: it has the parameters of the grant `provider_credentials`, or those of `provider_authorization_code`, without `grant_type`. E-mail addresses never link anything. The first identity makes a guest a person: the id and the session stay.',
    tag: 'People',
    responses: {
      201: {
        description: 'The identity is linked now.',
        body: shownIdentitySchema,
        example,
        links: {
          Unlink: {
            operationId: 'unlink-identity',
            description: 'Unlinks it again.',
            parameters: { identity_id: '$response.body#/id' },
          },
        },
      },
      200: { description: 'The identity was theirs already.', body: shownIdentitySchema, example },
    },
    errors: {
      invalid_request: {
        when: 'A parameter is missing, repeated, forbidden or malformed; the description names it. Or the provider is not set up for the Login App.',
        example: 'The parameter provider is required.',
      },
      invalid_grant: {
        when: 'The credential or the authorization code is not accepted, the nonce has had another use, or the login hook refuses.',
        example: 'The provider does not accept this credential for this Login App.',
      },
      unauthorized_client: providerNotAllowed,
      ...presenceErrors,
      conflict: {
        when: 'The identity belongs to another Login User: `merge_possible` is true, and the two accounts can be merged. Or the Login User has linked 20 identities, which is the most.',
        example: 'The identity belongs to another Login User of this Login App.',
        further: { merge_possible: 'Whether the two accounts can be merged.' },
      },
      too_many_requests: {
        ...tooManyRejected,
        when: `${tooManyRejected.when} Or: ${throttledByProvider.when}`,
      },
    },
    example: {
      bodies: {
        'OIDC id token': { provider: 'provider_f', id_token: 'PROVIDER_ID_TOKEN' },
        'OAuth 2.0 access token': { provider: 'provider_a', access_token: 'PROVIDER_ACCESS_TOKEN' },
        'Authorization code': { provider: 'provider_b', authorization_code: 'AUTHORIZATION_CODE' },
      },
    },
  },
});
