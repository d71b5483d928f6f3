import { createHmac } from 'node:crypto';
import OAuth from 'oauth-1.0a';
import { epochSeconds } from '../../foundation/clock.ts';
import { newId } from '../../foundation/ids.ts';
import { failForOurApp } from '../calls/app-errors.ts';
import { presentCredential, verificationDeadline } from '../calls/call-provider.ts';
import { rejected, requiredSubject, wellFormedCredential } from '../calls/credential.ts';
import { dummy, ProviderFailure, rejectsDummy } from '../calls/provider-failure.ts';
import { credentialParameters } from '../parameters.ts';
import { protocol } from '../protocol.ts';
import { keepNamespace } from '../settings/namespace.ts';
import { type OAuth1Settings, oauth1SettingsSchema } from './settings.ts';

/**
 * Token and secret, verified by a call that is signed with our consumer key.
 * @see RFC 5849
 */
export const oauth1 = protocol({
  name: 'oauth1',
  title: 'OAuth 1.0',
  settings: oauth1SettingsSchema,
  merge: keepNamespace,
  parameters: credentialParameters.oauth1,
  verify: verifyOAuth1,
  check: (settings) => [
    rejectsDummy(
      'verification',
      () => verifyOAuth1(settings, { access_token: dummy, access_secret: dummy }),
      'The provider rejects a made-up token. It would also do so if the consumer key or secret were wrong: only a login shows that they are right.',
    ),
  ],
});

/**
 * The person of an OAuth 1.0 token. The signature is that of our app, so the provider rejects a
 * token of another app.
 */
async function verifyOAuth1(
  settings: OAuth1Settings,
  { access_token, access_secret }: { access_token: string; access_secret: string },
) {
  const { verify_url: url, subject_field, namespace } = settings;
  const credential = {
    key: wellFormedCredential(access_token),
    secret: wellFormedCredential(access_secret),
  };
  const answer = await presentCredential({
    url,
    headers: { authorization: authorizationHeader(settings, 'GET', url, credential) },
    signal: verificationDeadline(),
  });
  const { status, body } = answer;
  if (status !== 200) failForOurApp(settings, answer, url);
  if ([401, 403].includes(status)) throw rejected('verification_refused');
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status), status);
  return { namespace, subject: requiredSubject(body, url, subject_field) };
}

/**
 * The header of a request signed by HMAC-SHA1.
 * @param fixed nonce and epoch seconds of examples
 * @see RFC 5849 section 3.5.1
 */
export function authorizationHeader(
  consumer: { consumer_key: string; consumer_secret: string },
  method: string,
  url: string,
  token: { key: string; secret: string },
  fixed: { nonce: string; timestamp: number } = { nonce: newId('n'), timestamp: epochSeconds() },
): string {
  const oauth = new OAuth({
    consumer: { key: consumer.consumer_key, secret: consumer.consumer_secret },
    signature_method: 'HMAC-SHA1',
    hash_function: (base, key) => createHmac('sha1', key).update(base).digest('base64'),
  });
  oauth.getNonce = () => fixed.nonce;
  oauth.getTimeStamp = () => fixed.timestamp;
  // The library would sign the names in a query without decoding them (RFC 5849 section 3.4.1.3.1).
  const { origin, pathname, searchParams } = new URL(url);
  const names = [...new Set(searchParams.keys())];
  const data = Object.fromEntries(names.map((name) => [name, searchParams.getAll(name)]));
  return oauth.toHeader(oauth.authorize({ url: `${origin}${pathname}`, method, data }, token))
    .Authorization;
}
