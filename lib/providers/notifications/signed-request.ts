import { createHmac } from 'node:crypto';
import * as v from 'valibot';
import { decodeUtf8 } from '../../foundation/utf8.ts';
import type { Identity } from '../../login-users/linked-identity.ts';
import { equalInConstantTime } from '../../secrets/secrets.ts';
import { hashOf } from '../../storage/keys.ts';
import { rejected, subjectAt, wellFormedCredential } from '../calls/credential.ts';
import { rejectOutdated } from '../jwt/verify-jwt.ts';
import type { OAuth2Settings } from '../oauth2/settings.ts';
import { longestAge, type Notification, type Received, refused } from './notification.ts';

/** The event of a signed request, which only the query of the address tells. */
export type SignedEvent = 'deauthorize' | 'data_deletion';

const payloadSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.looseObject({ algorithm: v.string(), issued_at: v.pipe(v.number(), v.safeInteger()) }),
);

/**
 * Verifies a signed request of Facebook.
 * @throws ServiceError
 * @see
 *   https://developers.facebook.com/docs/development/create-an-app/app-dashboard/data-deletion-callback
 */
export function verifySignedRequest(
  provider: OAuth2Settings,
  text: string,
  event: SignedEvent | undefined,
): Received {
  // 1. The settings and the address say what the request is about.
  const { namespace, user_info, notifications: settings } = provider;
  if (!settings || namespace === undefined)
    throw refused('The provider settings have no notifications with an app_secret.');
  if (event === undefined)
    throw refused('The query parameter event must be deauthorize or data_deletion.');
  const effect = effectOf(settings, event);

  // 2. It is signed with the secret of our app.
  const { encoded, signature } = signedPart(text, settings.app_secret);

  // 3. It counts once, for a while.
  const { issued_at: issuedAt, ...claims } = payloadIn(encoded);
  rejectOutdated({ iat: issuedAt }, longestAge);
  const id = hashOf(namespace, signature);

  // 4. It names a person.
  const subject = subjectAt(claims, 'user_id', user_info?.subject_type);
  if (subject === undefined) throw refused('The signed_request has no usable user_id.');
  const person = { namespace, subject };

  const { kind, action, receiptPage } = effect;
  const notification: Notification = { kind, person, issuedAt, action };
  const received: Received = { id, event, notifications: [notification] };
  if (receiptPage === undefined) return received;
  return { ...received, receipt: receiptFor(person, receiptPage) };
}

type NotificationSettings = NonNullable<OAuth2Settings['notifications']>;

/** The effect of an event on the person, and the page of the receipt if it has one. */
type Effect = Pick<Notification, 'kind' | 'action'> & { receiptPage?: string };

/** @throws ServiceError for an event that the settings are not made for */
function effectOf(settings: NotificationSettings, event: SignedEvent): Effect {
  const { data_deletion_url, on_unlinked = 'end_sessions' } = settings;
  if (event === 'deauthorize') return { kind: 'unlinked', action: on_unlinked };
  if (data_deletion_url === undefined)
    throw refused('The provider settings have no data_deletion_url.');
  return { kind: 'data_deletion', action: 'delete', receiptPage: data_deletion_url };
}

/**
 * The encoded payload of a signed request, and the signature without padding.
 * @throws ServiceError unless it is signed with the secret
 */
function signedPart(text: string, secret: string): { encoded: string; signature: string } {
  const [presented = '', encoded = '', ...rest] = wellFormedCredential(text).split('.');
  const hasTwoParts = rest.length === 0;
  const signature = createHmac('sha256', secret).update(encoded).digest('base64url');
  const isSigned = isSignature(presented, signature);
  if (!hasTwoParts || !isSigned) throw rejected('signature_invalid');
  return { encoded, signature };
}

/** Whether a signature is the expected one, padded or not, as RFC 4648 section 5 allows. */
function isSignature(signature: string, expected: string): boolean {
  const isPlain = equalInConstantTime(signature, expected);
  const isPadded = equalInConstantTime(signature, `${expected}=`);
  return isPlain || isPadded;
}

/** @throws ServiceError for a payload that is malformed, or that of a login */
function payloadIn(encoded: string): v.InferOutput<typeof payloadSchema> {
  const text = decodeUtf8(Buffer.from(encoded, 'base64url'));
  const parsed = v.safeParse(payloadSchema, text);
  if (!parsed.success) throw refused('The signed_request is malformed.');

  const payload = parsed.output;
  const isHmac = payload.algorithm.toUpperCase() === 'HMAC-SHA256';
  if (!isHmac) throw refused('The signed_request is malformed.');

  // A login leaves such signed requests in the browser.
  const isOfLogin = 'code' in payload || 'oauth_token' in payload;
  if (isOfLogin) throw refused('The signed_request is that of a login.');
  return payload;
}

/** The receipt for a person. Its code is the same each time, and does not reveal who they are. */
function receiptFor({ namespace, subject }: Identity, page: string) {
  const hash = Buffer.from(hashOf('deletion', namespace, subject), 'base64url');
  const confirmation_code = hash.toString('hex').slice(0, 24);

  const url = new URL(page);
  url.searchParams.set('confirmation_code', confirmation_code);
  return { url: url.href, confirmation_code };
}
