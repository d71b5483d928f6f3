import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { definedOnly } from '../foundation/defined-only.ts';
import { idForms } from '../foundation/ids.ts';
import type { LogReason } from '../foundation/reasons.ts';
import { invalid, ServiceError } from '../foundation/service-error.ts';
import { annotateLog } from '../log/request-fields.ts';
import { tokenExchange } from '../login-apps/client-metadata.ts';
import type { AuthenticatedClient } from '../login-apps/clients.ts';
import { handOutAccess } from '../people/provider-access/hand-out.ts';
import { hasIssued } from '../people/sessions/session.ts';
import {
  forbidden,
  mustBeOneOf,
  optional,
  parameters,
  required,
} from '../schema/form-parameters.ts';
import { described, jsonSchema } from '../schema/json-schema.ts';
import { readAccessTokenFor } from './access-token.ts';
import { activeSessionOf } from './active-session.ts';
import { countExchange } from './limit-exchanges.ts';
import type { TokenResponse } from './token-response.ts';

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token' as const;
/** A Login User Token is an access token, and a JWT. */
const subjectTokenTypes = [accessTokenType, 'urn:ietf:params:oauth:token-type:jwt'] as const;

/** @__NO_SIDE_EFFECTS__ */
const oneOf = <const Values extends readonly [string, ...string[]]>(name: string, values: Values) =>
  v.optional(
    v.pipe(
      required(name),
      v.picklist(values, mustBeOneOf(name, values)),
      jsonSchema({ type: 'string', enum: [...values] }),
    ),
  );

const idParameter = (name: string, form: 'i_…' | 'lu_…', text: string) =>
  v.optional(
    v.pipe(
      required(name),
      v.regex(idForms[form], `The ${name} must be a complete id of the form ${form}.`),
      jsonSchema({ type: 'string', pattern: idForms[form].source }),
      v.description(text),
    ),
  );

const inExchange = 'in a token exchange';

/** @see RFC 8693, section 2.1 */
export const tokenExchangeSchema = v.pipe(
  parameters({
    grant_type: v.literal(tokenExchange),
    audience: described(
      required('audience'),
      'The provider whose access token is wanted, or one of its issuers. Its settings must have `keep_tokens`.',
    ),
    subject_token: described(
      optional('subject_token'),
      'A Login User Token of the person, with its `subject_token_type`.',
    ),
    subject_token_type: oneOf('subject_token_type', subjectTokenTypes),
    requested_token_type: oneOf('requested_token_type', [accessTokenType]),
    login_user_id: idParameter(
      'login_user_id',
      'lu_…',
      'The person, in place of a `subject_token`: for a client that may do this while the person is away.',
    ),
    identity_id: idParameter(
      'identity_id',
      'i_…',
      'The identity, where the person has several at the provider.',
    ),
    resource: forbidden('resource', `${inExchange}: name the provider by audience`),
    actor_token: forbidden('actor_token', inExchange),
    actor_token_type: forbidden('actor_token_type', inExchange),
  }),
  v.title('TokenExchangeGrant'),
);
type ExchangeForm = v.InferOutput<typeof tokenExchangeSchema>;

/**
 * Gets a provider's access token of a person, for a server.
 * @throws ServiceError, ProviderFailure
 * @see RFC 8693
 */
export async function exchangeToken(
  client: AuthenticatedClient,
  form: ExchangeForm,
): Promise<TokenResponse> {
  // 1. The client may do this, so often.
  requireRight(client, form);
  await countExchange(client);

  // 2. The person is one of its Login App.
  const loginUserId = form.login_user_id ?? (await personOfToken(client, form));
  annotateLog({ login_user_id: loginUserId });

  // 3. They get an access token that the provider gave, or gives now.
  const { audience, identity_id } = form;
  const access = await handOutAccess(client.loginAppId, loginUserId, { audience, identity_id });
  if (!access) throw invalid('The Login App has no such Login User.');
  return definedOnly({
    access_token: access.access_token,
    issued_token_type: accessTokenType,
    token_type: 'bearer' as const,
    expires_in: Math.max(0, access.expires_at - epochSeconds()),
    scope: access.scopes?.join(' '),
  });
}

/**
 * @throws ServiceError `unauthorized_client` for a client without the right to this form of the
 *   exchange, `invalid_request` for a form that is neither
 */
function requireRight(client: AuthenticatedClient, form: ExchangeForm): void {
  const { subject_token, subject_token_type, login_user_id } = form;
  const isPublic = client.proofKey !== undefined;
  if (isPublic)
    throw notAllowed('A public client may not get tokens of providers. Let a server ask for them.');
  const { mayGetProviderTokens, mayGetProviderTokensOffline } = client;
  if (!mayGetProviderTokens && !mayGetProviderTokensOffline)
    throw notAllowed(
      `The client may not get tokens of providers. ${allowedBy('--provider-tokens')}`,
    );

  const isByToken = subject_token !== undefined && subject_token_type !== undefined;
  const isById = subject_token === undefined && subject_token_type === undefined;
  if (login_user_id === undefined ? !isByToken : !isById)
    throw invalid('Send either subject_token with subject_token_type, or login_user_id.');
  if (isByToken && !mayGetProviderTokens)
    throw notAllowed(
      `The client may get tokens of providers by login_user_id, and by no subject_token. ${allowedBy('--provider-tokens')}`,
    );
  if (isById && !mayGetProviderTokensOffline)
    throw notAllowed(
      `The client may get tokens of providers by subject_token, and by no login_user_id. ${allowedBy('--provider-tokens-offline')}`,
    );
}

const allowedBy = (flag: string): string =>
  `An operator can allow it by clients update with ${flag}.`;

const notAllowed = (message: string): ServiceError =>
  new ServiceError('unauthorized_client', message, 'provider_tokens_not_allowed');

/**
 * The person of a Login User Token, which may be another client's of the same Login App.
 * @throws ServiceError `invalid_request`
 * @see RFC 8693, section 2.2.2
 */
async function personOfToken(
  { loginAppId }: AuthenticatedClient,
  { subject_token = '' }: ExchangeForm,
): Promise<string> {
  const { claims, reason } = await readAccessTokenFor('login_user', subject_token);
  if (!claims) throw invalidSubject(reason);
  if (claims.aud !== loginAppId) throw invalidSubject('issued_to_another_client');
  const session = await activeSessionOf(loginAppId, claims.sub, claims.sid);
  if (!session || !hasIssued(session, claims)) throw invalidSubject('session_ended');
  return claims.sub;
}

const invalidSubject = (reason: LogReason | undefined): ServiceError =>
  new ServiceError(
    'invalid_request',
    'The subject_token is not a valid Login User Token of this Login App.',
    definedOnly({ reason }),
  );
