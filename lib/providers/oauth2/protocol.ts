import { verificationDeadline } from '../call-provider.ts';
import { type CheckResult, dummy, rejectsDummy } from '../checks.ts';
import { checkKeys } from '../oidc/protocol.ts';
import { credentialParameters } from '../parameters.ts';
import { protocol } from '../protocol.ts';
import { keepNamespace } from '../settings/fields.ts';
import { type AudienceValidation, oauth2SettingsSchema, type UserInfo } from './settings.ts';
import { checkExchange } from './token-endpoint.ts';
import { validateAudience } from './validate-audience.ts';
import { askUserInfo, verifyAccessToken } from './verify.ts';

/** An access token, verified by audience validation and user info. @see RFC 6749 */
export const oauth2 = protocol({
  name: 'oauth2',
  title: 'OAuth 2.0',
  settings: oauth2SettingsSchema,
  merge: keepNamespace,
  parameters: credentialParameters.oauth2,
  verify: (settings, { access_token }) => verifyAccessToken(settings, access_token, verificationDeadline()),
  check: ({ audience_validation, user_info, authorization_code }) => {
    const signal = verificationDeadline();
    return [
      ...(audience_validation ? [checkAudience(audience_validation, user_info, signal)] : []),
      ...(user_info ? [rejectsDummy('user info', () => askUserInfo(user_info, dummy, signal))] : []),
      ...(authorization_code ? [checkExchange('authorization code', authorization_code, signal)] : []),
      ...(authorization_code?.id_token ? [checkKeys(authorization_code.id_token)] : []),
    ];
  },
});

const checkAudience = (
  settings: AudienceValidation,
  userInfo: UserInfo | undefined,
  signal: AbortSignal,
): Promise<CheckResult> =>
  settings.method === 'jwt'
    ? checkKeys(settings)
    : rejectsDummy('audience validation', () => validateAudience(settings, dummy, signal, userInfo));
