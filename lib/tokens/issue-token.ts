import * as v from 'valibot';
import { ServiceError } from '../errors/service-error.ts';
import { logEvent } from '../log/log.ts';
import { note } from '../log/request-fields.ts';
import { requireEnabled } from '../login-apps/client-rights.ts';
import type { AuthenticatedClient } from '../login-apps/clients.ts';
import { type GrantType, grantTypes } from '../login-apps/grant-types.ts';
import { providerIds } from '../provider-settings/identifiers.ts';
import { invalidRequest, type MakeError } from '../schema/validation.ts';
import { clientCredentials, issueForClientCredentials } from './grants/client-credentials.ts';
import { providerAuthorizationCode } from './grants/code-request.ts';
import { providerCredentials } from './grants/credentials-request.ts';
import { discriminatorProblem, unsupportedGrantType } from './grants/discriminator.ts';
import { issueForAuthorizationCode } from './grants/provider-authorization-code.ts';
import { issueForProviderCredentials } from './grants/provider-credentials.ts';
import { issueForRefreshToken, refreshToken } from './grants/refresh-token.ts';
import type { TokenResponse } from './token-response.ts';

/** A token request: a form whose other parameters depend on `grant_type`, and for provider credentials on `provider`. */
export const tokenRequest = v.pipe(
  v.variant(
    'grant_type',
    [providerCredentials, providerAuthorizationCode, refreshToken, clientCredentials],
    discriminatorProblem,
  ),
  v.title('TokenRequest'),
);

/** `unsupported_grant_type`, or `invalid_request` that names the first parameter that is wrong. Notes the request for the log. */
export const invalidTokenRequest: MakeError = (errors, form) => {
  noteRequest(v.is(v.looseObject({}), form) ? form : {});
  return errors[0]?.message === unsupportedGrantType
    ? new ServiceError('unsupported_grant_type', unsupportedGrantType)
    : invalidRequest(errors);
};

/** Issues a token by the grant that the request names. @throws ServiceError, ProviderFailure */
export async function issueToken(
  client: AuthenticatedClient,
  request: v.InferOutput<typeof tokenRequest>,
): Promise<TokenResponse> {
  noteRequest(request);
  await requireGrant(client, request.grant_type);
  const response = await issue(client, request);
  logEvent('token_issued', {});
  return response;
}

/**
 * Checks that a client may use a grant now.
 * @throws ServiceError `unauthorized_client`
 * @see RFC 6749 section 5.2
 */
async function requireGrant(
  { loginAppId, grantTypes: allowed }: AuthenticatedClient,
  grantType: GrantType,
): Promise<void> {
  if (allowed && !allowed.includes(grantType)) {
    throw new ServiceError('unauthorized_client', `The client may not use the grant ${grantType}.`, {
      reason: 'grant_type_not_allowed',
    });
  }
  await requireEnabled(loginAppId);
}

function issue(
  client: AuthenticatedClient,
  request: v.InferOutput<typeof tokenRequest>,
): Promise<TokenResponse> {
  switch (request.grant_type) {
    case 'provider_credentials':
      return issueForProviderCredentials(client, request);
    case 'provider_authorization_code':
      return issueForAuthorizationCode(client, request);
    case 'refresh_token':
      return issueForRefreshToken(client, request);
    case 'client_credentials':
      return issueForClientCredentials(client);
  }
}

/** Notes the grant and the provider for the log, but nothing that a caller made up. */
function noteRequest(form: { grant_type?: unknown; provider?: unknown }): void {
  const grant_type = grantTypes.find((type) => type === form.grant_type);
  if (grant_type) note({ grant_type });
  const provider = grant_type?.startsWith('provider_') && providerIds.find((id) => id === form.provider);
  if (provider) note({ provider });
}
