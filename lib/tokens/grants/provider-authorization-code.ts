import * as v from 'valibot';
import { codeForm } from '../../providers/oauth2/code-form.ts';
import { grantForm } from '../grant-form.ts';
import { startSession } from '../start-session.ts';

const form = codeForm({ grant_type: v.literal('provider_authorization_code') }, {});

/** An authorization code that a provider issued to the app. */
export const providerAuthorizationCode = grantForm(
  v.pipe(form, v.title('AuthorizationCodeGrant')),
  'login_user',
  startSession,
);
