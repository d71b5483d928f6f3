import { errors, type JWTPayload } from 'jose';
import * as v from 'valibot';
import { ServiceError } from '../../foundation/service-error.ts';
import type { LogEvents } from '../../log/events.ts';
import type { Identity } from '../../login-users/linked-identity.ts';
import { hashOf } from '../../storage/keys.ts';
import { rejected, subjectAt, wellFormedCredential } from '../calls/credential.ts';
import { type Action, authorityOf, providerSessionOf } from '../jwt/issuer.ts';
import type { KnownIssuer } from '../jwt/issuers-in-settings.ts';
import {
  claimsOfIdTokens,
  type JwtKind,
  reasonOf,
  rejectedJwt,
  rejectOutdated,
  trustedIssuerOf,
  verifiedJwt,
} from '../jwt/verify-jwt.ts';

export interface Notification {
  kind: LogEvents['provider_notified']['kind'];
  /** Absent where it names only a session, or nobody we could know. */
  person?: Identity | undefined;
  /** The hash of the provider's session. */
  providerSession?: string | undefined;
  /** Epoch seconds. */
  issuedAt: number;
  action: Action;
  isHijacking?: boolean;
}

/** A verified message of a provider. */
export interface Received {
  /**
   * Equal in a repeated message, which changes nothing. Absent for Apple, where the time is enough.
   */
  id?: string;
  /** The event of a message that does not tell it itself. It counts for this one alone. */
  event?: string;
  notifications: Notification[];
  /**
   * The answer to a request to delete data: where the person can read about it, and the code to
   * quote.
   */
  receipt?: { url: string; confirmation_code: string };
}

/** The error for a signed message that is not as it should be. */
export const refused = (message: string) =>
  new ServiceError('invalid_request', message, 'claim_invalid');

/** Errors for messages that are not accepted, by the parameter or the content type. */
const problems = {
  payload: 'payload is not a notification',
  secevent: 'body is not a security event token',
  logout_token: 'logout_token is not a logout token',
  signed_request: 'signed_request is not one',
};
export type MessageForm = keyof typeof problems;

/** The error for a message that anybody could have sent: only the log says why it is rejected. */
export function notAccepted(error: unknown, form: MessageForm): unknown {
  const rejection = error instanceof errors.JOSEError ? rejectedJwt(reasonOf(error)) : error;
  const isRejected = rejection instanceof ServiceError && rejection.code === 'invalid_grant';
  if (!isRejected || rejection.detail.reason === undefined) return error;
  const message = `The ${problems[form]} of this provider for this Login App.`;
  return new ServiceError('invalid_request', message, rejection.detail);
}

/**
 * The `typ` of security event tokens.
 * @see RFC 8417, section 2.3
 */
export const ofSecurityEvents = ['jwt', 'secevent+jwt'];

/** The `jti`, by which a message counts once. */
const idSchema = v.pipe(v.string(), v.nonEmpty());

type AppleKind = 'consent_revoked' | 'account_deleted' | 'email_enabled' | 'email_disabled';

/**
 * Apple's notifications that count; others are ignored. It has written the deletion in two ways.
 */
const kinds = new Map<string, AppleKind>([
  ['email-enabled', 'email_enabled'],
  ['email-disabled', 'email_disabled'],
  ['consent-revoked', 'consent_revoked'],
  ['account-delete', 'account_deleted'],
  ['account-deleted', 'account_deleted'],
]);

/** The claim `events`: an object, or JSON of it, as Apple sends it. */
const eventSchema = v.looseObject({ type: v.string() });
const eventsSchema = v.union([eventSchema, v.pipe(v.string(), v.parseJson(), eventSchema)]);

/**
 * Verifies a notification of Apple, which counts for a day.
 * @throws ServiceError, JOSEError, ProviderFailure
 * @see
 *   https://developer.apple.com/documentation/signinwithapple/processing-changes-for-sign-in-with-apple-accounts
 */
export async function verifyNotification(issuers: KnownIssuer[], jwt: string): Promise<Received> {
  const trusted = trustedIssuerOf(wellFormedCredential(jwt), issuers);
  const { payload } = await verifiedJwt(trusted, jwt, {
    types: ofSecurityEvents,
    claims: ['iat', 'jti'],
  });
  rejectOutdated(payload, 86_400);
  if (!v.is(idSchema, payload.jti)) throw rejected('claim_invalid');

  const told = v.safeParse(eventsSchema, payload.events);
  if (!told.success) throw rejected('claim_invalid');
  const person = personIn(trusted, told.output);
  if (!person) throw rejected('claim_invalid');

  const kind = kinds.get(told.output.type);
  if (kind === undefined) return { notifications: [] };
  const action = actionOn(trusted, kind);
  return { notifications: [{ kind, person, issuedAt: issueTimeOf(payload), action }] };
}

/** The action after a notification of Apple. One about the person's address is only published. */
function actionOn(issuer: KnownIssuer, kind: AppleKind): Action {
  if (kind === 'email_enabled' || kind === 'email_disabled') return 'nothing';
  return issuer[`on_${kind}`] ?? 'end_sessions';
}

/** The person whom an issuer knows by a `sub`; undefined when there is no usable one. */
export function personIn(issuer: KnownIssuer, claims: unknown): Identity | undefined {
  const subject = subjectAt(claims, 'sub');
  return subject === undefined ? undefined : { namespace: authorityOf(issuer), subject };
}

/** Epoch seconds at which a JWT was issued. Some senders add a fraction. */
export const issueTimeOf = ({ iat = 0 }: JWTPayload): number => Math.floor(iat);

/** Seconds for which a message counts, as long as transmitters repeat it. */
export const longestAge = 7 * 86_400;

/**
 * Verifies the JWT of a message, and calls no other issuer.
 * @throws ServiceError, JOSEError, ProviderFailure
 */
export async function verifyFromIssuer(issuers: KnownIssuer[], jwt: string, kind: JwtKind) {
  // 1. The issuer is one whose messages count.
  const issuer = trustedIssuerOf(wellFormedCredential(jwt), issuers);
  const { notifications: settings } = issuer;
  if (!settings) throw rejected('notifications_off');

  // 2. It has signed the message for one of our apps.
  const { audiences = issuer.audiences } = settings;
  const { payload } = await verifiedJwt({ ...issuer, audiences }, jwt, kind);

  // 3. The message is no id token, which anybody gets who logs in.
  const claim = claimsOfIdTokens.find((name) => payload[name] !== undefined);
  if (claim !== undefined)
    throw refused(`The token must not have ${claim}, which makes it an id token.`);

  // 4. It counts once, for a while.
  rejectOutdated(payload, longestAge);
  const id = v.safeParse(idSchema, payload.jti);
  if (!id.success) throw refused('The token needs a jti that is text, and not empty.');
  return { issuer, settings, payload, id: hashOf(issuer.issuer, id.output) };
}

/**
 * The event that makes a JWT a logout token.
 * @see OpenID Connect Back-Channel Logout 1.0, section 2.4
 */
export const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
const logoutSchema = v.looseObject({ [logoutEvent]: v.looseObject({}) });

/** Seconds for which a logout token without `exp` counts. */
const logoutAge = 300;

/**
 * Verifies a logout token. Some senders leave out its `exp`.
 * @throws ServiceError, JOSEError, ProviderFailure
 * @see OpenID Connect Back-Channel Logout 1.0, section 2.6
 */
export async function verifyLogoutToken(issuers: KnownIssuer[], jwt: string): Promise<Received> {
  const { issuer, settings, payload, id } = await verifyFromIssuer(issuers, jwt, {
    types: ['jwt', 'logout+jwt'],
    claims: ['iat', 'jti'],
  });
  if (payload.exp === undefined) rejectOutdated(payload, logoutAge);
  if (!v.is(logoutSchema, payload.events))
    throw refused('The events of the token are not those of a logout token.');

  // It names a person, a session or both, and each of them in a usable way.
  const { sub, sid } = payload;
  const person = personIn(issuer, payload);
  const providerSession = providerSessionOf(issuer, sid);
  const isSubUsable = sub === undefined || person !== undefined;
  const isSidUsable = sid === undefined || providerSession !== undefined;
  const namesNobody = sub === undefined && sid === undefined;
  if (!isSubUsable || !isSidUsable || namesNobody) throw refused('The token needs a sub or a sid.');

  const action = settings.on_logout ?? 'end_sessions';
  const issuedAt = issueTimeOf(payload);
  return { id, notifications: [{ kind: 'logout', person, providerSession, issuedAt, action }] };
}
