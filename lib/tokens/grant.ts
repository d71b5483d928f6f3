import * as v from 'valibot';
import type { AuthenticatedClient } from '../login-apps/clients.ts';
import type { GrantType } from '../login-apps/grant-types.ts';
import type { TokenUse } from './access-token.ts';
import type { TokenResponse } from './token-response.ts';

type FormSchema = v.VariantOptions<'grant_type'>[number] &
  v.GenericSchema<unknown, { grant_type: GrantType }>;

/** A grant of the token endpoint. @see RFC 6749, section 1.3 */
interface Definition<Schema extends FormSchema> {
  grant_type: GrantType;
  /** The kind of its tokens, which is also their scope. */
  token_use: TokenUse;
  /** The schema of its form. */
  schema: Schema;
  /** @throws ServiceError, ProviderFailure */
  issue: (client: AuthenticatedClient, request: v.InferOutput<Schema>) => Promise<TokenResponse>;
}

/** Makes a grant of its definition: a form that was read carries how its token is issued. */
export const grant = <Schema extends FormSchema>({
  grant_type,
  token_use,
  schema,
  issue,
}: Definition<Schema>) => ({
  grant_type,
  schema: v.pipe(
    schema,
    v.transform((request) => ({
      ...request,
      token_use,
      issue: (client: AuthenticatedClient) => issue(client, request),
    })),
  ),
});
