// The token endpoint and its grants, access tokens, introspection, revocation and the metadata of the authorization
// server. Sessions are kept in `lib/people`, keys in `lib/signing`. It calls both.

import * as v from 'valibot';
import { ServiceError } from '../foundation/service-error.ts';
import { logEvent } from '../log/log.ts';
import { annotateLog } from '../log/request-fields.ts';
import { type AuthenticatedClient, requireEnabled } from '../login-apps/clients.ts';
import { type GrantType, grantTypes } from '../login-apps/grant-types.ts';
import { storeFetchedKeys } from '../providers/oidc/issuer-keys.ts';
import { providerIds } from '../providers/provider-ids.ts';
import { choiceProblem, mustBeOneOf } from '../schema/form-parameters.ts';
import { jsonSchema } from '../schema/json-schema.ts';
import { invalidRequest, type MakeError } from '../schema/validation.ts';
import type { TokenUse } from './access-token.ts';
import { grantForms } from './grants.ts';
import type { TokenResponse } from './token-response.ts';

/** Every grant: its other parameters depend on `grant_type`, and for provider credentials on `provider`. */
const grantFormSchema = v.pipe(
  v.variant('grant_type', grantForms, choiceProblem({ grant_type: grantTypes, provider: providerIds })),
  v.title('TokenRequest'),
);

/** A token request: the form of a grant, and perhaps a `scope`, which every grant takes. */
export const tokenRequestSchema = v.pipe(
  v.intersect([
    grantFormSchema,
    v.object({ scope: v.optional(v.string('The parameter scope is repeated.')) }),
  ]),
  jsonSchema(grantFormSchema),
);
type TokenRequest = v.InferOutput<typeof tokenRequestSchema>;

const unsupportedGrantType = mustBeOneOf('grant_type', grantTypes);

/** `unsupported_grant_type`, or `invalid_request` that names the first parameter that is wrong. Notes the request for the log. */
export const invalidTokenRequest: MakeError = (errors, form) => {
  noteRequest(v.is(v.looseObject({}), form) ? form : {});
  return errors[0]?.message === unsupportedGrantType
    ? new ServiceError('unsupported_grant_type', unsupportedGrantType)
    : invalidRequest(errors);
};

/** Issues a token by the grant that the request names. @throws ServiceError, ProviderFailure */
export async function issueToken(client: AuthenticatedClient, request: TokenRequest): Promise<TokenResponse> {
  noteRequest(request);
  await requireGrant(client, request.grant_type);
  const response = await request.issue(client).finally(storeFetchedKeys);
  logEvent('token_issued', {});
  return { ...response, ...otherScope(request) };
}

/** The scope that a grant gives, where the request asks for another one. @see RFC 6749 section 3.3 */
function otherScope({ token_use, scope = '' }: TokenRequest): { scope?: TokenUse } {
  const asked = scope.split(' ').filter((name) => name !== '');
  return asked.every((name) => name === token_use) ? {} : { scope: token_use };
}

/** Checks that a client may use a grant now. @throws ServiceError `unauthorized_client` @see RFC 6749 section 5.2 */
async function requireGrant({ loginAppId, grantTypes: allowed }: AuthenticatedClient, grantType: GrantType) {
  if (allowed && !allowed.includes(grantType)) {
    throw new ServiceError('unauthorized_client', `The client may not use the grant ${grantType}.`, {
      reason: 'grant_type_not_allowed',
    });
  }
  await requireEnabled(loginAppId);
}

/** Notes the grant and the provider for the log, but nothing that a caller made up. */
function noteRequest(form: { grant_type?: unknown; provider?: unknown }): void {
  const grant_type = grantTypes.find((type) => type === form.grant_type);
  if (grant_type) annotateLog({ grant_type });
  const provider = grant_type?.startsWith('provider_') && providerIds.find((id) => id === form.provider);
  if (provider) annotateLog({ provider });
}
