import { forbidden, required } from '../../form-parameters.ts';
import { verificationDeadline } from '../call-provider.ts';
import { madeUp, rejectsMadeUp } from '../checks.ts';
import { family } from '../family.ts';
import { exchangeCode } from './exchange-code.ts';
import { oauth2Settings } from './settings.ts';
import { validateAudience } from './validate-audience.ts';
import { userInfo, verifyAccessToken } from './verify.ts';

const forProvider = 'for an OAuth 2.0 provider';

/** An access token, verified by audience validation and user info. @see RFC 6749 */
export const oauth2 = family({
  name: 'oauth2',
  title: 'OAuth 2.0',
  settings: oauth2Settings,
  parameters: {
    access_token: required('access_token'),
    access_secret: forbidden('access_secret', forProvider),
    id_token: forbidden('id_token', forProvider),
  },
  verify: (settings, { access_token }) => verifyAccessToken(settings, access_token),
  check: (settings) => {
    const { authorization_code } = settings;
    const signal = verificationDeadline();
    return [
      rejectsMadeUp('audience validation', () => validateAudience(settings, madeUp, signal)),
      rejectsMadeUp('user info', () => userInfo(settings, madeUp, signal)),
      ...(authorization_code
        ? [rejectsMadeUp('authorization code', () => exchangeCode(authorization_code, madeUp, signal))]
        : []),
    ];
  },
});
