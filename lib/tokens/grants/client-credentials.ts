import * as v from 'valibot';
import { parameters } from '../../schema/form-parameters.ts';
import { grantForm } from '../grant-form.ts';
import { loginAppTokenOf } from '../token-response.ts';

const form = parameters({ grant_type: v.literal('client_credentials') });

/** The client's own credentials. @see RFC 6749 section 4.4 */
export const clientCredentials = grantForm(
  v.pipe(form, v.title('ClientCredentialsGrant')),
  'login_app',
  ({ loginAppId, clientId }) => loginAppTokenOf(loginAppId, clientId),
);
