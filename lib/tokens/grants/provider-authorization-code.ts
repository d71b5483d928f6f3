import * as v from 'valibot';
import { codeForm } from '../../providers/oauth2/code-form.ts';
import { grant } from '../grant.ts';
import { startSession } from '../start-session.ts';

const grant_type = 'provider_authorization_code';

/** An authorization code that a provider issued to the app. */
export const providerAuthorizationCode = grant({
  grant_type,
  token_use: 'login_user',
  schema: v.pipe(codeForm({ grant_type: v.literal(grant_type) }, {}), v.title('AuthorizationCodeGrant')),
  issue: startSession,
});
