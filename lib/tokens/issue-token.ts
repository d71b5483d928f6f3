import * as v from 'valibot';
import { logEvent } from '../log.ts';
import type { AuthenticatedClient } from '../login-apps/authenticate-client.ts';
import { Refusal } from '../refusal.ts';
import { note } from '../request-fields.ts';
import { refuseAsInvalidRequest, validated } from '../validation.ts';
import { parameters, required } from './grants/grant.ts';
import { grantTypes } from './grants/grant-types.ts';
import { grants } from './grants/grants.ts';
import type { TokenResponse } from './token-response.ts';

/** A token request: a form. Which parameters it must hold, its grant says. */
export const tokenRequest = v.record(v.string(), v.union([v.string(), v.array(v.string())]));

const grantTypeParameter = parameters({ grant_type: required('grant_type') });

/** Issues a token by the grant that the request names. @throws Refusal */
export async function issueToken(
  client: AuthenticatedClient,
  request: v.InferOutput<typeof tokenRequest>,
): Promise<TokenResponse> {
  const { grant_type } = validated(grantTypeParameter, request, refuseAsInvalidRequest);
  const grantType = grantTypes.find((type) => type === grant_type);
  if (!grantType) {
    throw new Refusal('unsupported_grant_type', `The grant_type must be one of ${grantTypes.join(', ')}.`);
  }
  note({ grant_type: grantType });
  const response = await grants[grantType](client, request);
  logEvent('token_issued', {});
  return response;
}
