import { errors } from 'jose';
import * as v from 'valibot';
import { ServiceError } from '../../foundation/service-error.ts';
import type { LogEvents } from '../../log/events.ts';
import type { Identity } from '../../login-users/linked-identity.ts';
import { rejected, subjectAt, wellFormedCredential } from '../credential.ts';
import type { KnownIssuer } from '../settings/issuers.ts';
import { authorityOf } from './issuer.ts';
import type { Action } from './notification-settings.ts';
import { reasonOf, rejectOutdated, trustedIssuerOf, verifiedJwt } from './verify.ts';

/** Apple's kinds of notifications; anything else is ignored. It has written the second in two ways. */
const kinds = new Map<string, 'consent_revoked' | 'account_deleted'>([
  ['consent-revoked', 'consent_revoked'],
  ['account-delete', 'account_deleted'],
  ['account-deleted', 'account_deleted'],
]);

/** A notification of a provider about a person. */
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
  /** Whether the account was hijacked. */
  isHijacking?: boolean;
}

/** A message of a provider that has been verified. */
export interface Received {
  /** The message by whoever sent it; a repeated one changes nothing. Absent of Apple's, whose time is enough. */
  id?: string;
  notifications: Notification[];
}

/** Seconds for which a notification counts; issuers send it again for some hours while we do not answer. */
const longestAge = 86_400;

/** The claim `events`: an object, which Apple writes as text. */
const eventSchema = v.looseObject({ type: v.string() });
const eventsSchema = v.union([eventSchema, v.pipe(v.string(), v.parseJson(), eventSchema)]);

/**
 * Verifies a notification like an id token: the issuer's signature, the issuer, the audience and the time.
 * @throws ServiceError `invalid_request`, ProviderFailure
 * @see https://developer.apple.com/documentation/signinwithapple/processing-changes-for-sign-in-with-apple-accounts
 */
export async function verifyNotification(issuers: KnownIssuer[], jwt: string): Promise<Received> {
  try {
    const trusted = trustedIssuerOf(wellFormedCredential(jwt), issuers);
    const { payload } = await verifiedJwt(trusted, jwt, {
      types: /^(jwt|secevent\+jwt)?$/i,
      claims: ['iat', 'jti'],
    });
    rejectOutdated(payload, longestAge);
    const told = v.safeParse(eventsSchema, payload.events);
    const subject = told.success ? subjectAt(told.output, 'sub') : undefined;
    if (!told.success || subject === undefined) throw rejected('claim_invalid');
    const kind = kinds.get(told.output.type);
    if (kind === undefined) return { notifications: [] };
    const person = { namespace: authorityOf(trusted), subject };
    const action = trusted[`on_${kind}`] ?? 'end_sessions';
    return { notifications: [{ kind, person, issuedAt: payload.iat ?? 0, action }] };
  } catch (error) {
    throw notAccepted(error, 'payload is not a notification');
  }
}

/** The error for any message that could be a stranger's: only the log says why. */
export function notAccepted(error: unknown, what: string): unknown {
  const reason =
    error instanceof errors.JOSEError
      ? reasonOf(error)
      : error instanceof ServiceError && error.code === 'invalid_grant'
        ? error.reason
        : undefined;
  if (reason === undefined) return error;
  const message = `The ${what} of this provider for this Login App.`;
  return new ServiceError('invalid_request', message, { reason });
}
