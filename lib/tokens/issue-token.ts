import * as v from 'valibot';
import { ServiceError } from '../foundation/service-error.ts';
import { logEvent } from '../log/log.ts';
import { annotateLog } from '../log/request-fields.ts';
import {
  type GrantType,
  guestGrant,
  supportedGrantTypes,
  tokenExchange,
} from '../login-apps/client-metadata.ts';
import {
  type AuthenticatedClient,
  mayUseGrant,
  requireEnabled,
  requireMoreThanIntrospection,
} from '../login-apps/clients.ts';
import type { VerifiedIdentity } from '../login-users/linked-identity.ts';
import { withReceivedToken } from '../people/identities/store-token.ts';
import { logIn } from '../people/sessions/log-in.ts';
import { putSession } from '../people/sessions/new-session.ts';
import { refreshSession } from '../people/sessions/refresh-session.ts';
import { storeFetchedKeys } from '../providers/jwt/issuer-keys.ts';
import { codeParameters } from '../providers/parameters.ts';
import { type ProviderId, providerIds } from '../providers/provider-ids.ts';
import {
  type CodeForm,
  type CredentialForm,
  protocolOf,
  verifyCode,
  verifyCredential,
} from '../providers/providers.ts';
import type { ReceivedToken } from '../providers/received-token.ts';
import { choiceProblem, mustBeOneOf, parameters, required } from '../schema/form-parameters.ts';
import { described, jsonSchema } from '../schema/json-schema.ts';
import { invalidRequest, type MakeError } from '../schema/validation.ts';
import type { TokenUse } from './access-token.ts';
import { clientIdParameter, useProof } from './dpop-proof.ts';
import { exchangeToken, tokenExchangeSchema } from './exchange-token.ts';
import { guestSchema, issueToGuest } from './issue-to-guest.ts';
import { loginParameters } from './login-parameters.ts';
import { readRefreshToken } from './refresh-token.ts';
import { issueAccessToken, loginUserTokenOf, type TokenResponse } from './token-response.ts';

/** A provider's credential, whose parameters depend on the protocol. */
const providerCredentials = v.variant(
  'provider',
  providerIds.map((provider) => {
    const grant_type = v.literal('provider_credentials');
    const title = `Provider${provider.slice(-1).toUpperCase()}Credentials`;
    return v.pipe(
      protocolOf(provider).form(provider, { grant_type }, loginParameters),
      v.title(title),
    );
  }),
);

const providerAuthorizationCode = v.pipe(
  parameters({
    grant_type: v.literal('provider_authorization_code'),
    ...codeParameters,
    ...loginParameters,
  }),
  v.title('AuthorizationCodeGrant'),
);

/** @see RFC 6749 section 6 */
const refreshToken = v.pipe(
  parameters({
    grant_type: v.literal('refresh_token'),
    refresh_token: required('refresh_token'),
    ...clientIdParameter,
  }),
  v.title('RefreshTokenGrant'),
);

const repeatedScope = 'The parameter scope is repeated.';

/** @see RFC 6749 section 4.4 */
const clientCredentials = v.pipe(
  parameters({
    grant_type: v.literal('client_credentials'),
    scope: described(
      v.optional(v.string(repeatedScope)),
      '`recipients` for a token that reads recipients and reports dead tokens. Any other scope changes nothing.',
    ),
  }),
  v.title('ClientCredentialsGrant'),
);

/**
 * Every grant by its type. The form of a request, the metadata and the dispatch follow this table.
 */
const grants = {
  provider_credentials: { schema: providerCredentials, issue: logInByCredential },
  provider_authorization_code: { schema: providerAuthorizationCode, issue: logInByCode },
  refresh_token: { schema: refreshToken, issue: refresh },
  client_credentials: { schema: clientCredentials, issue: issueToClient },
  [guestGrant]: { schema: guestSchema, issue: issueToGuest },
  [tokenExchange]: { schema: tokenExchangeSchema, issue: exchangeToken },
} satisfies Record<GrantType, unknown>;

const grantFormSchema = v.pipe(
  v.variant(
    'grant_type',
    supportedGrantTypes.map((type) => grants[type].schema),
    choiceProblem({ grant_type: supportedGrantTypes, provider: providerIds }),
  ),
  v.title('TokenRequest'),
);

/** The form of a grant; each takes a `scope`. */
export const tokenRequestSchema = v.pipe(
  v.intersect([grantFormSchema, v.object({ scope: v.optional(v.string(repeatedScope)) })]),
  jsonSchema(grantFormSchema),
);
type TokenRequest = v.InferOutput<typeof tokenRequestSchema>;

const unsupportedGrantType = mustBeOneOf('grant_type', supportedGrantTypes);

/** `unsupported_grant_type` or `invalid_request`. Notes the request for the log. */
export const invalidTokenRequest: MakeError = (errors, form) => {
  noteRequest(Object(form));
  return errors[0]?.message === unsupportedGrantType
    ? new ServiceError('unsupported_grant_type', unsupportedGrantType)
    : invalidRequest(errors);
};

/** @throws ServiceError, ProviderFailure */
export async function issueToken(
  client: AuthenticatedClient,
  request: TokenRequest,
): Promise<TokenResponse> {
  const { grant_type } = request;
  noteRequest(request);
  requireGrant(client, grant_type);
  await requireEnabled(client.loginAppId);
  const response = await issueBy(grant_type, client, request).finally(storeFetchedKeys);
  if (grant_type === tokenExchange) return response;
  logEvent('token_issued', {});
  return { ...response, ...otherScope(request) };
}

/**
 * @throws ServiceError `unauthorized_client` for a grant that the client may not use; for one that
 *   may use none, it says what else the client may do
 */
function requireGrant(client: AuthenticatedClient, type: GrantType): void {
  if (mayUseGrant(client, type)) return;
  requireMoreThanIntrospection(client);
  throw notAllowed(`The client may not use the grant ${type}.`);
}

type Issue<Form> = (client: AuthenticatedClient, form: Form) => Promise<TokenResponse>;
type Forms = { [Type in GrantType]: v.InferOutput<(typeof grants)[Type]['schema']> };

function issueBy<Type extends GrantType>(
  type: Type,
  client: AuthenticatedClient,
  form: Forms[Type],
) {
  const table: { [One in GrantType]: { issue: Issue<Forms[One]> } } = grants;
  return table[type].issue(client, form);
}

async function refresh(client: AuthenticatedClient, { refresh_token }: { refresh_token: string }) {
  const content = await readRefreshToken(refresh_token);
  // A token that is not ours has no effect, so it costs no write.
  if (content) await useProof(client);
  return loginUserTokenOf(await refreshSession(client, content));
}

/** @see RFC 6749 section 4.4.3 */
async function issueToClient(client: AuthenticatedClient, form: ScopeForm) {
  const { loginAppId: aud, clientId: client_id, mayReadRecipients } = client;
  const token_use = useOfClient(form);
  if (token_use === 'recipients' && !mayReadRecipients)
    throw notAllowed('The client may not read recipients.');
  return issueAccessToken<typeof token_use>({ token_use, aud, sub: client_id, client_id });
}

/** The parameters of every login. */
interface LoginForm {
  provider: ProviderId;
  session_name?: string | undefined;
}

function logInByCredential(client: AuthenticatedClient, form: CredentialForm & LoginForm) {
  return startSession(client, form, (received) => verifyCredential(client, form, received));
}

function logInByCode(client: AuthenticatedClient, form: CodeForm & LoginForm) {
  return startSession(client, form, (received) => verifyCode(client, form, received));
}

/**
 * Logs in the person whom a provider verifies. The session is stored last, so a login that fails
 * leaves none.
 */
async function startSession(
  client: AuthenticatedClient,
  { provider, session_name: name }: LoginForm,
  verify: (received: ReceivedToken) => Promise<VerifiedIdentity>,
): Promise<TokenResponse> {
  const place = { loginAppId: client.loginAppId, provider };
  return withReceivedToken(place, async (received) => {
    const verified = await verify(received);
    await useProof(client);
    const session = await logIn(client, { provider, verified, received, name });
    const tokens = await loginUserTokenOf(session);
    await putSession(session);
    return tokens;
  });
}

type ScopeForm = { scope?: string | undefined };

/** The names in a requested scope. */
const namesIn = ({ scope = '' }: ScopeForm): string[] =>
  scope.split(' ').filter((name) => name !== '');

/** The use of a client's own token: it asks for the one that reads recipients by its scope. */
const useOfClient = (form: ScopeForm) =>
  namesIn(form).includes('recipients') ? 'recipients' : 'login_app';

/**
 * The scope of the token, if the request asks for another one.
 * @see RFC 6749 section 3.3
 */
function otherScope(request: TokenRequest): { scope?: TokenUse } {
  const isOfClient = request.grant_type === 'client_credentials';
  const granted = isOfClient ? useOfClient(request) : 'login_user';
  const isAsked = namesIn(request).every((name) => name === granted);
  return isAsked ? {} : { scope: granted };
}

const notAllowed = (message: string): ServiceError =>
  new ServiceError('unauthorized_client', message, 'grant_type_not_allowed');

/**
 * Notes the grant and the provider of a request for the log. Names that the service does not know
 * could be anything, so they are left out.
 */
function noteRequest(form: { grant_type?: unknown; provider?: unknown }): void {
  const grant_type = supportedGrantTypes.find((type) => type === form.grant_type);
  if (!grant_type) return;
  annotateLog({ grant_type });

  const hasProvider = grant_type.startsWith('provider_');
  const provider = providerIds.find((id) => id === form.provider);
  if (hasProvider && provider) annotateLog({ provider });
}
