import { dummy, rejectsDummy } from '../checks.ts';
import { credentialParameters } from '../parameters.ts';
import { protocol } from '../protocol.ts';
import { hostAt, keepNamespace } from '../settings/namespace.ts';
import { oauth1SettingsSchema } from './settings.ts';
import { verifyOAuth1 } from './verify.ts';

/** Token and secret, verified by a call that is signed with our consumer key. @see RFC 5849 */
export const oauth1 = protocol({
  name: 'oauth1',
  title: 'OAuth 1.0',
  settings: oauth1SettingsSchema,
  merge: keepNamespace(hostAt('verify_url')),
  parameters: credentialParameters.oauth1,
  verify: (settings, { access_token, access_secret }) =>
    verifyOAuth1(settings, { token: access_token, secret: access_secret }),
  check: (settings) => [
    rejectsDummy(
      'verification',
      () => verifyOAuth1(settings, { token: dummy, secret: dummy }),
      'The provider rejects a made-up token. It would also do so if the consumer key or secret were wrong: only a login shows that they are right.',
    ),
  ],
});
