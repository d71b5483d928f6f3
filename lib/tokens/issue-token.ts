import * as v from 'valibot';
import type { AuthenticatedClient } from '../login-apps/authenticate-client.ts';
import { Refusal } from '../refusal.ts';
import { refuseAsInvalidRequest, validated } from '../validation.ts';
import { parameters, required } from './grants/grant.ts';
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
  const grant = grants.get(grant_type);
  if (!grant) {
    throw new Refusal(
      'unsupported_grant_type',
      `The grant_type must be one of ${[...grants.keys()].join(', ')}.`,
    );
  }
  return grant(client, request);
}
