import { verificationDeadline } from '../call-provider.ts';
import { type CheckResult, dummy, rejectsDummy } from '../checks.ts';
import { checkKeys } from '../oidc/protocol.ts';
import { credentialParameters } from '../parameters.ts';
import { protocol } from '../protocol.ts';
import { hostAt, issuerAt, keepNamespace } from '../settings/fields.ts';
import {
  type AccessTokenSettings,
  accessTokenSettings,
  type CodeExchange,
  oauth2SettingsSchema,
} from './settings.ts';
import { exchangeCode } from './token-endpoint.ts';
import { validateAudience } from './validate-audience.ts';
import { userInfo, verifyAccessToken } from './verify.ts';

/** An access token, verified by audience validation and user info. @see RFC 6749 */
export const oauth2 = protocol({
  name: 'oauth2',
  title: 'OAuth 2.0',
  settings: oauth2SettingsSchema,
  merge: keepNamespace(hostAt('user_info.url'), issuerAt('audience_validation.issuer')),
  parameters: credentialParameters.oauth2,
  verify: async (settings, { access_token }) => {
    const forAccessTokens = accessTokenSettings(settings);
    return forAccessTokens && verifyAccessToken(forAccessTokens, access_token);
  },
  check: (settings) => {
    const signal = verificationDeadline();
    const forAccessTokens = accessTokenSettings(settings);
    const { user_info } = settings;
    return [
      ...(forAccessTokens ? [checkAudience(forAccessTokens, signal)] : []),
      ...(user_info ? [rejectsDummy('user info', () => userInfo({ user_info }, dummy, signal))] : []),
      ...(settings.authorization_code ? checkExchange(settings.authorization_code, signal) : []),
    ];
  },
});

function checkAudience(settings: AccessTokenSettings, signal: AbortSignal): Promise<CheckResult> {
  if (!settings.user_info) return checkKeys(settings.audience_validation);
  if (settings.audience_validation.method === 'jwt') return checkKeys(settings.audience_validation);
  return rejectsDummy('audience validation', () => validateAudience(settings, dummy, signal));
}

const checkExchange = (exchange: CodeExchange, signal: AbortSignal): Promise<CheckResult>[] => [
  rejectsDummy('authorization code', () => exchangeCode(exchange, { authorization_code: dummy }, signal)),
  ...(exchange.id_token ? [checkKeys(exchange.id_token)] : []),
];
