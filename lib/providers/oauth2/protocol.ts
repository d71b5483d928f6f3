import { invalid } from '../../foundation/service-error.ts';
import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import { verificationDeadline } from '../calls/call-provider.ts';
import { wellFormedCredential } from '../calls/credential.ts';
import { dummy, rejectsDummy } from '../calls/provider-failure.ts';
import { type AuthorizationCode, checkExchange, exchangeCode } from '../codes/token-endpoint.ts';
import { checkKeys } from '../jwt/issuer-keys.ts';
import { verifyCode } from '../oidc/verify.ts';
import { credentialParameters } from '../parameters.ts';
import { protocol } from '../protocol.ts';
import { requireBoundCode } from '../public-clients.ts';
import type { ReceivedToken } from '../received-token.ts';
import type { StoredSettings } from '../settings/encryption.ts';
import { keepNamespace } from '../settings/namespace.ts';
import { type AudienceValidation, type OAuth2Settings, oauth2SettingsSchema } from './settings.ts';
import { askUserInfo } from './user-info.ts';
import { validateAudience, verifyAccessToken } from './verify.ts';

/**
 * An access token, verified by audience validation and user info.
 * @see RFC 6749
 */
export const oauth2 = protocol({
  name: 'oauth2',
  title: 'OAuth 2.0',
  settings: oauth2SettingsSchema,
  merge: keepNamespace,
  parameters: credentialParameters.oauth2,
  verify: (settings, { access_token }) =>
    verifyAccessToken(settings, access_token, verificationDeadline()),
  check: ({ audience_validation: validation, user_info, authorization_code }) => {
    const signal = verificationDeadline();
    const validate = (known: AudienceValidation) =>
      known.method === 'jwt'
        ? checkKeys(known)
        : rejectsDummy('audience validation', () =>
            validateAudience(known, dummy, signal, user_info),
          );
    return [
      validation && validate(validation),
      user_info && rejectsDummy('user info', () => askUserInfo(user_info, dummy, signal)),
      authorization_code && checkExchange('authorization code', authorization_code, signal),
      authorization_code?.id_token && checkKeys(authorization_code.id_token),
    ].filter((one) => one !== undefined);
  },
});

/**
 * The person of an authorization code, which is exchanged at the provider; undefined without
 * settings for that.
 * @param received gets the provider's refresh token, if the settings say where it can be revoked
 */
export async function verifyAuthorizationCode(
  stored: StoredSettings,
  code: AuthorizationCode,
  received: ReceivedToken,
  isOfPublicClient: boolean,
): Promise<VerifiedIdentity | undefined> {
  const settings = await oauth2.read(stored);
  const { authorization_code: exchange } = settings;
  if (!exchange) return undefined;
  if (isOfPublicClient) requireBoundCode(exchange, code);
  if (exchange.pkce === 'required' && code.code_verifier === undefined)
    throw invalid('The parameter code_verifier is required for this provider.');
  if (exchange.id_token) return verifyCode(exchange, exchange.id_token, code, received);
  if (code.nonce !== undefined)
    throw invalid(
      'The parameter nonce must not be supplied, since the settings of this provider use no id token.',
    );
  const signal = verificationDeadline();
  const { access_token = '' } = await exchangeCode(exchange, code, received, signal);
  return settings.audience_validation
    ? verifyAccessToken(settings, access_token, signal)
    : verifyExchanged(settings, access_token, signal);
}

/**
 * The person of an access token that a code was exchanged for. The provider gives it only to the
 * app that the code was issued to.
 * @see RFC 6749, section 4.1.3
 */
async function verifyExchanged(
  { namespace, user_info }: OAuth2Settings,
  accessToken: string,
  signal: AbortSignal,
): Promise<VerifiedIdentity | undefined> {
  if (namespace === undefined || !user_info) return undefined;
  const person = await askUserInfo(user_info, wellFormedCredential(accessToken), signal);
  return { namespace, ...person };
}
