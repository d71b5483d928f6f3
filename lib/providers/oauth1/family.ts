import { oauth1Protocol } from '../../provider-settings/protocols.ts';
import { forbidden, required } from '../../schema/form-parameters.ts';
import { madeUp, rejectsMadeUp } from '../checks.ts';
import { family } from '../family.ts';
import { verifyOAuth1 } from './verify.ts';

/** Token and secret, verified by a call that is signed with our consumer key. @see RFC 5849 */
export const oauth1 = family(oauth1Protocol, {
  parameters: {
    access_token: required('access_token'),
    access_secret: required('access_secret'),
    id_token: forbidden('id_token', 'for the OAuth 1.0 provider'),
    nonce: forbidden('nonce', 'for the OAuth 1.0 provider'),
  },
  verify: (settings, { access_token, access_secret }) =>
    verifyOAuth1(settings, { token: access_token, secret: access_secret }),
  check: (settings) => [
    rejectsMadeUp(
      'verification',
      () => verifyOAuth1(settings, { token: madeUp, secret: madeUp }),
      'The provider rejects a made-up token. It would also do so if the consumer key or secret were wrong: only a login shows that they are right.',
    ),
  ],
});
