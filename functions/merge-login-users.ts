import { loginUserToken } from '../lib/http/auth/login-user-token.ts';
import { form } from '../lib/http/body.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';
import { mergeFormSchema, tooManyRejected } from '../lib/people/identities/new-identity.ts';
import { inUse } from '../lib/people/merge/merge-login-users.ts';
import { mergePath } from '../lib/tokens/issuer.ts';
import { mergeAccounts, mergedAccountSchema } from '../lib/tokens/merge-accounts.ts';
import { presenceHeaders, requirePresenceWithKey } from '../lib/tokens/require-presence.ts';
import { presenceErrors, providerNotAllowed, throttledByProvider } from './shared/errors.ts';
import { exampleAccount, exampleIdentity } from './shared/example-account.ts';

export const { endpoint, handler } = serve({
  route: `POST ${mergePath}`,
  authenticate: loginUserToken,
  parameters: { headers: presenceHeaders },
  body: form(mergeFormSchema),
  table: {
    login_users: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
    devices: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
    issuer_keys: ['GetItem'],
    used_once: ['GetItem', 'PutItem'],
  },
  secrets: ['provider-settings', 'refresh-tokens'],
  callsProviders: true,
  asksLoginHook: true,
  handle: async ({ caller, headers, body }) => {
    requireActiveUser(caller);
    await requirePresenceWithKey(caller, headers.dpop, { method: 'POST', path: mergePath });
    return ok(await mergeAccounts(caller, body));
  },
  document: !process.env.BUNDLED && {
    summary: 'Merges the Login User with another one, of whom the request has a fresh credential',
    description:
      'The access token proves one account, the credential the other: it has the parameters of a link. Without both proofs there is no merge, and equal addresses mean nothing. `keep` says which account stays, with its id, its profile and its `sub`. It gets the identities and the devices of the other one, which is gone: its sessions end, and its id leads to the account that is kept. That cannot be undone. A public client sends a proof of its key, too. A guest who is merged keeps the session for ten minutes, so that the app can move what it has stored.',
    tag: 'People',
    responses: {
      200: {
        description:
          'The account that is kept. Without `merged_from`, the identity was theirs already, and nothing was merged.',
        body: mergedAccountSchema,
        example: {
          ...exampleAccount,
          identities: [
            exampleIdentity,
            {
              id: 'i_b2FhJ7yDk4GqXe9AoMnC5t',
              provider: 'provider_b',
              linked_at: '2026-03-02T18:20:00.000Z',
            },
          ],
          merged_from: 'lu_loI20-mhluRYq9pU3Yw8Zt5nVbEg2m0c1KfXq2m0c1',
          moved: { identities: 1, devices: 1 },
          lost: { identities: 0, devices: 0 },
        },
      },
    },
    errors: {
      invalid_request: {
        when: 'A parameter is missing, repeated, forbidden or malformed; the description names it. Or the provider is not set up for the Login App.',
        example: 'The parameter keep is required.',
      },
      invalid_grant: {
        when: 'The credential or the authorization code is not accepted, the nonce has had another use, or the login hook refuses.',
        example: 'The provider does not accept this credential for this Login App.',
      },
      unauthorized_client: {
        ...providerNotAllowed,
        when: `${providerNotAllowed.when} Or, with \`keep=theirs\`, the client may not use the grant by which such a credential logs in.`,
      },
      ...presenceErrors,
      invalid_dpop_proof: {
        when: 'For a public client: there is no proof of the key of the session, or one that is malformed, by another key, for another request or used.',
        example:
          'Send a proof in the header DPoP, by the key of the session: a merge cannot be undone.',
      },
      forbidden: {
        when: 'The person is blocked, or the owner of the credential is.',
        example: 'The Login User is blocked.',
      },
      conflict: {
        when: 'The identity belongs to nobody: link it instead. Or both accounts were imported, with different external ids. Or the account that would be given up is the end of 20 merges in a row: keep that one.',
        example:
          'The identity belongs to no other account, so there is nothing to merge: link it instead.',
      },
      temporarily_unavailable: {
        when: "A server gets a provider's token of one of the two just now. Nothing has changed; send the request again with a fresh credential.",
        example: inUse,
      },
      too_many_requests: {
        ...tooManyRejected,
        when: `${tooManyRejected.when} Or: ${throttledByProvider.when}`,
      },
    },
    example: {
      bodies: {
        'OIDC id token': { keep: 'mine', provider: 'provider_f', id_token: 'ID_TOKEN_OF_OTHERS' },
        'OAuth 2.0 access token': {
          keep: 'theirs',
          provider: 'provider_a',
          access_token: 'PROVIDER_ACCESS_TOKEN',
        },
      },
    },
  },
});
