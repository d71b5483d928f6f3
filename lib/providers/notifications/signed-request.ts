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
  { namespace, notifications: settings, user_info }: OAuth2Settings,
  text: string,
  event: SignedEvent | undefined,
): Received {
  // 1. The settings and the address say what the request is about.
  if (!settings || namespace === undefined)
    throw refused('The provider settings have no notifications with an app_secret.');
  if (event === undefined)
    throw refused('The query parameter event must be deauthorize or data_deletion.');
  const { app_secret, data_deletion_url, on_unlinked = 'end_sessions' } = settings;
  const isDeletion = event === 'data_deletion';
  if (isDeletion && data_deletion_url === undefined)
    throw refused('The provider settings have no data_deletion_url.');

  // 2. It is signed with the secret of our app.
  const [signature = '', encoded = '', ...rest] = wellFormedCredential(text).split('.');
  const expected = createHmac('sha256', app_secret).update(encoded).digest('base64url');
  if (rest.length > 0 || !isSignature(signature, expected)) throw rejected('signature_invalid');

  // 3. It counts once, for a while.
  const { issued_at: issuedAt, ...claims } = payloadIn(encoded);
  rejectOutdated({ iat: issuedAt }, longestAge);
  const id = hashOf(namespace, expected);

  // 4. It names a person.
  const subject = subjectAt(claims, 'user_id', user_info?.subject_type);
  if (subject === undefined) throw refused('The signed_request has no usable user_id.');
  const person = { namespace, subject };

  if (isDeletion && data_deletion_url !== undefined) {
    const deletion: Notification = { kind: 'data_deletion', person, issuedAt, action: 'delete' };
    const receipt = receiptFor(person, data_deletion_url);
    return { id, event, notifications: [deletion], receipt };
  }
  const unlinking: Notification = { kind: 'unlinked', person, issuedAt, action: on_unlinked };
  return { id, event, notifications: [unlinking] };
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
  const payload = v.safeParse(payloadSchema, text);
  if (!payload.success || payload.output.algorithm.toUpperCase() !== 'HMAC-SHA256')
    throw refused('The signed_request is malformed.');
  // A login leaves such signed requests in the browser.
  if ('code' in payload.output || 'oauth_token' in payload.output)
    throw refused('The signed_request is that of a login.');
  return payload.output;
}

/** The receipt for a person. Its code is the same each time, and does not reveal who they are. */
function receiptFor({ namespace, subject }: Identity, page: string) {
  const hash = Buffer.from(hashOf('deletion', namespace, subject), 'base64url');
  const confirmation_code = hash.toString('hex').slice(0, 24);
  const url = new URL(page);
  url.searchParams.set('confirmation_code', confirmation_code);
  return { url: url.href, confirmation_code };
}
