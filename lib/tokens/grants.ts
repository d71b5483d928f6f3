import * as v from 'valibot';
import { ServiceError } from '../foundation/service-error.ts';
import { clientIdParameter } from '../login-apps/client-authentication.ts';
import type { AuthenticatedClient } from '../login-apps/clients.ts';
import type { GrantType } from '../login-apps/grant-types.ts';
import { logIn, putSession } from '../people/sessions/log-in.ts';
import { refreshSession } from '../people/sessions/refresh-session.ts';
import { codeForm } from '../providers/oauth2/authorization-code.ts';
import { type Credential, verifyCredential } from '../providers/protocol.ts';
import { providerIds } from '../providers/provider-ids.ts';
import { protocolOf } from '../providers/providers.ts';
import { parameters, required } from '../schema/form-parameters.ts';
import { jsonSchema } from '../schema/json-schema.ts';
import type { TokenUse } from './access-token.ts';
import { readRefreshToken } from './refresh-token.ts';
import { clientTokenOf, loginUserTokenOf, type TokenResponse } from './token-response.ts';

type FormSchema = v.VariantOptions<'grant_type'>[number] &
  v.GenericSchema<unknown, { grant_type: GrantType }>;

/**
 * The schema of a grant's form. A form that was read carries how its token is issued. The forms of a variant become so one
 * by one: valibot passes over what a variant within a variant transforms.
 * @param schema of its parameters
 * @param useOf the kind of its tokens, which is also their scope
 * @param issue throws ServiceError, ProviderFailure
 * @see RFC 6749, section 1.3
 */
const grantForm = <Schema extends FormSchema>(
  schema: Schema,
  useOf: TokenUse | ((request: v.InferOutput<Schema>) => TokenUse),
  issue: (client: AuthenticatedClient, request: v.InferOutput<Schema>) => Promise<TokenResponse>,
) =>
  v.pipe(
    schema,
    v.transform((request) => ({
      ...request,
      token_use: typeof useOf === 'string' ? useOf : useOf(request),
      issue: (client: AuthenticatedClient) => issue(client, request),
    })),
  );

/**
 * Starts a session for the person of a provider's credential, and issues its tokens. The session is stored last, so a login
 * that fails leaves none that its owner would see.
 * @throws ServiceError, ProviderFailure
 */
async function startSession(
  client: AuthenticatedClient,
  { session_name, ...credential }: Credential & { session_name?: string | undefined },
): Promise<TokenResponse> {
  const { loginAppId, proofKey } = client;
  const identity = await verifyCredential({ loginAppId, isPublic: proofKey !== undefined }, credential);
  const session = await logIn(client, credential.provider, identity, session_name);
  const tokens = await loginUserTokenOf(session);
  await putSession(session);
  return tokens;
}

/** The parameters of every login. */
const login = {
  ...clientIdParameter,
  session_name: v.optional(
    v.pipe(
      required('session_name'),
      v.regex(
        /^\P{Cc}{1,64}$/u,
        'The parameter session_name must have 1 to 64 characters, none of them a control character.',
      ),
      jsonSchema({ type: 'string', minLength: 1, maxLength: 64 }),
      v.description(
        'A name by which the person recognizes the session in a list, such as that of their phone.',
      ),
    ),
  ),
};

/** A credential that a provider issued to the app: the other parameters depend on the provider's protocol. */
const providerCredentials = v.variant(
  'provider',
  providerIds.map((provider) => {
    const grant_type = v.literal('provider_credentials');
    const form = protocolOf(provider).form(provider, { grant_type }, login);
    const title = `Provider${provider.slice(-1).toUpperCase()}Credentials`;
    return grantForm(v.pipe(form, v.title(title)), 'login_user', startSession);
  }),
);

/** An authorization code that a provider issued to the app. */
const providerAuthorizationCode = grantForm(
  v.pipe(
    codeForm({ grant_type: v.literal('provider_authorization_code') }, login),
    v.title('AuthorizationCodeGrant'),
  ),
  'login_user',
  startSession,
);

/** A refresh token of ours. @see RFC 6749 section 6 */
const refreshToken = grantForm(
  v.pipe(
    parameters({
      grant_type: v.literal('refresh_token'),
      refresh_token: required('refresh_token'),
      ...clientIdParameter,
    }),
    v.title('RefreshTokenGrant'),
  ),
  'login_user',
  async (client, { refresh_token }) =>
    loginUserTokenOf(await refreshSession(client, await readRefreshToken(refresh_token))),
);

const clientCredentialsForm = parameters({
  grant_type: v.literal('client_credentials'),
  scope: v.pipe(
    v.optional(v.string('The parameter scope is repeated.')),
    v.description(
      '`recipients` for a token that reads recipients and reports dead tokens. Any other scope changes nothing.',
    ),
  ),
});

const scopeOfClient = ({ scope = '' }: v.InferOutput<typeof clientCredentialsForm>) =>
  scope.split(' ').includes('recipients') ? 'recipients' : 'login_app';

/** The client's own credentials. @see RFC 6749 section 4.4 */
const clientCredentials = grantForm(
  v.pipe(clientCredentialsForm, v.title('ClientCredentialsGrant')),
  scopeOfClient,
  async (client, request) => {
    const scope = scopeOfClient(request);
    if (scope === 'recipients' && !client.mayReadRecipients)
      throw new ServiceError('unauthorized_client', 'The client may not read recipients.', {
        reason: 'grant_type_not_allowed',
      });
    return clientTokenOf(client, scope);
  },
);

/** The form of every grant. */
export const grantForms = [providerCredentials, providerAuthorizationCode, refreshToken, clientCredentials];
