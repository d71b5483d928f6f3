import { errors } from 'jose';
import * as v from 'valibot';
import { ServiceError } from '../../foundation/service-error.ts';
import type { LogEvents } from '../../log/events.ts';
import type { Identity } from '../../login-users/linked-identity.ts';
import { hashOf } from '../../storage/keys.ts';
import { rejected, subjectAt, wellFormedCredential } from '../credential.ts';
import type { KnownIssuer } from '../settings/issuers.ts';
import { type Action, authorityOf } from './issuer.ts';
import {
  claimsOfIdTokens,
  type JwtKind,
  providerSessionOf,
  reasonOf,
  rejectOutdated,
  trustedIssuerOf,
  verifiedJwt,
} from './verify.ts';

export interface Notification {
  kind: LogEvents['provider_notified']['kind'];
  /** Absent where it names nothing but a session, or nobody whom we could know. */
  person?: Identity | undefined;
  /** The hash of the provider's session that it is about. */
  providerSession?: string | undefined;
  /** Epoch seconds. */
  issuedAt: number;
  /** The action that the settings ask for. */
  action: Action;
  isHijacking?: boolean;
}

/** A message of a provider that has been verified. */
export interface Received {
  /** The message by whoever sent it; a repeated one changes nothing. Absent of Apple's, whose time is enough. */
  id?: string;
  notifications: Notification[];
  /** The answer to a request to delete somebody's data: where they can read about it, and the code to quote. */
  receipt?: { url: string; confirmation_code: string };
}

/** The error for a message that its issuer has signed, and that is not as it should be. */
export const refused = (message: string): ServiceError =>
  new ServiceError('invalid_request', message, 'claim_invalid');

/** Kinds of messages, by the parameter that holds one or the content type, with the error for one that is not accepted. */
const problems = {
  payload: 'payload is not a notification',
  secevent: 'body is not a security event token',
  logout_token: 'logout_token is not a logout token',
  signed_request: 'signed_request is not one',
};
export type MessageForm = keyof typeof problems;

/** The error for any message that could be a stranger's: only the log says why. */
export function notAccepted(error: unknown, form: MessageForm): unknown {
  const isRejected = error instanceof ServiceError && error.code === 'invalid_grant';
  const reason =
    error instanceof errors.JOSEError ? reasonOf(error) : isRejected ? error.detail.reason : undefined;
  if (reason === undefined) return error;
  const message = `The ${problems[form]} of this provider for this Login App.`;
  return new ServiceError('invalid_request', message, reason);
}

/** Apple's kinds of notifications; anything else is ignored. It has written the second in two ways. */
const kinds = new Map<string, 'consent_revoked' | 'account_deleted'>([
  ['consent-revoked', 'consent_revoked'],
  ['account-delete', 'account_deleted'],
  ['account-deleted', 'account_deleted'],
]);

/** The claim `events`: an object, which Apple writes as text. */
const eventSchema = v.looseObject({ type: v.string() });
const eventsSchema = v.union([eventSchema, v.pipe(v.string(), v.parseJson(), eventSchema)]);

/**
 * Verifies a notification of Apple like an id token: the issuer's signature, the issuer, the audience and the time. It
 * counts for a day; Apple sends it again for some hours while we do not answer.
 * @throws ServiceError, JOSEError, ProviderFailure
 * @see https://developer.apple.com/documentation/signinwithapple/processing-changes-for-sign-in-with-apple-accounts
 */
export async function verifyNotification(issuers: KnownIssuer[], jwt: string): Promise<Received> {
  const trusted = trustedIssuerOf(wellFormedCredential(jwt), issuers);
  const types = /^(jwt|secevent\+jwt)?$/i;
  const { payload } = await verifiedJwt(trusted, jwt, { types, claims: ['iat', 'jti'] });
  rejectOutdated(payload, 86_400);
  const told = v.safeParse(eventsSchema, payload.events);
  const subject = told.success ? subjectAt(told.output, 'sub') : undefined;
  if (!told.success || subject === undefined) throw rejected('claim_invalid');
  const kind = kinds.get(told.output.type);
  if (kind === undefined) return { notifications: [] };
  const person = { namespace: authorityOf(trusted), subject };
  const action = trusted[`on_${kind}`] ?? 'end_sessions';
  return { notifications: [{ kind, person, issuedAt: payload.iat ?? 0, action }] };
}

/** Seconds for which a message counts: as long as transmitters repeat it. */
export const longestAge = 7 * 86_400;

/**
 * A JWT that an issuer has signed to tell us something, and its settings for that. No call is made for another issuer's.
 * @throws ServiceError, JOSEError, ProviderFailure
 */
export async function verifyFromIssuer(issuers: KnownIssuer[], jwt: string, kind: JwtKind) {
  const issuer = trustedIssuerOf(wellFormedCredential(jwt), issuers);
  const { notifications: settings } = issuer;
  if (!settings) throw rejected('notifications_off');
  const { audiences = issuer.audiences } = settings;
  const { payload } = await verifiedJwt({ ...issuer, audiences }, jwt, kind);
  const claim = claimsOfIdTokens.find((name) => payload[name] !== undefined);
  if (claim !== undefined) throw refused(`The token must not have ${claim}, which makes it an id token.`);
  rejectOutdated(payload, longestAge);
  if (typeof payload.jti !== 'string') throw refused('The token needs a jti that is text.');
  return { issuer, settings, payload, id: hashOf(issuer.issuer, payload.jti) };
}

/** The event that makes a JWT a logout token. @see OpenID Connect Back-Channel Logout 1.0, section 2.4 */
export const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';
const logoutSchema = v.looseObject({ [logoutEvent]: v.looseObject({}) });

/** @throws ServiceError, JOSEError, ProviderFailure @see OpenID Connect Back-Channel Logout 1.0, section 2.6 */
export async function verifyLogoutToken(issuers: KnownIssuer[], jwt: string): Promise<Received> {
  const { issuer, settings, payload, id } = await verifyFromIssuer(issuers, jwt, {
    types: /^(jwt|logout\+jwt)?$/i,
    claims: ['iat', 'exp', 'jti'],
  });
  const { sub, sid, iat = 0 } = payload;
  if (!v.is(logoutSchema, payload.events))
    throw refused('The events of the token are not those of a logout token.');
  const subject = subjectAt(payload, 'sub');
  const providerSession = providerSessionOf(issuer, sid);
  const isUsable = (claim: unknown, read: string | undefined) => claim === undefined || read !== undefined;
  if (!isUsable(sub, subject) || !isUsable(sid, providerSession) || (sub ?? sid) === undefined)
    throw refused('The token needs a sub or a sid.');
  const person = subject === undefined ? undefined : { namespace: authorityOf(issuer), subject };
  const action = settings.on_logout ?? 'end_sessions';
  return { id, notifications: [{ kind: 'logout', person, providerSession, issuedAt: iat, action }] };
}
