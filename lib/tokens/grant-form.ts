import * as v from 'valibot';
import type { AuthenticatedClient } from '../login-apps/clients.ts';
import type { GrantType } from '../login-apps/grant-types.ts';
import type { TokenUse } from './access-token.ts';
import type { TokenResponse } from './token-response.ts';

type FormSchema = v.VariantOptions<'grant_type'>[number] &
  v.GenericSchema<unknown, { grant_type: GrantType }>;

/**
 * The schema of a grant's form. A form that was read carries how its token is issued. The forms of a variant become so one
 * by one: valibot passes over what a variant within a variant transforms.
 * @param schema of its parameters
 * @param token_use the kind of its tokens, which is also their scope
 * @param issue throws ServiceError, ProviderFailure
 * @see RFC 6749, section 1.3
 */
export const grantForm = <Schema extends FormSchema>(
  schema: Schema,
  token_use: TokenUse,
  issue: (client: AuthenticatedClient, request: v.InferOutput<Schema>) => Promise<TokenResponse>,
) =>
  v.pipe(
    schema,
    v.transform((request) => ({
      ...request,
      token_use,
      issue: (client: AuthenticatedClient) => issue(client, request),
    })),
  );
