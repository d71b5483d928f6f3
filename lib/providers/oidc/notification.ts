import { errors } from 'jose';
import * as v from 'valibot';
import { ServiceError } from '../../foundation/service-error.ts';
import type { Identity } from '../../login-users/linked-identity.ts';
import { rejected, subjectAt, wellFormedCredential } from '../credential.ts';
import type { KnownIssuer } from '../settings/issuers.ts';
import { authorityOf } from './issuer.ts';
import { reasonOf, rejectOutdated, trustedIssuerOf, verifiedJwt } from './verify.ts';

/** Kinds of notifications about a person; anything else is ignored. Apple has written the second in two ways. */
const kinds = new Map<string, NotificationKind>([
  ['consent-revoked', 'consent_revoked'],
  ['account-delete', 'account_deleted'],
  ['account-deleted', 'account_deleted'],
]);
type NotificationKind = 'consent_revoked' | 'account_deleted';

/** A notification of an issuer about a person. */
export interface Notification {
  kind: NotificationKind;
  person: Identity;
  /** Epoch seconds. */
  issuedAt: number;
  /** The action that the settings of the issuer ask for. */
  action: 'end_sessions' | 'delete';
}

/** Seconds for which a notification counts; issuers send it again for some hours while we do not answer. */
const longestAge = 86_400;

/** The claim `events`: an object, which Apple writes as text. */
const eventSchema = v.looseObject({ type: v.string() });
const eventsSchema = v.union([eventSchema, v.pipe(v.string(), v.parseJson(), eventSchema)]);

/**
 * Verifies a notification like an id token: the issuer's signature, the issuer, the audience and the time.
 * @returns undefined for one that is about nothing we act on
 * @throws ServiceError `invalid_request`, ProviderFailure
 * @see https://developer.apple.com/documentation/signinwithapple/processing-changes-for-sign-in-with-apple-accounts
 */
export async function verifyNotification(
  issuers: KnownIssuer[],
  jwt: string,
): Promise<Notification | undefined> {
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
    if (kind === undefined) return undefined;
    return {
      kind,
      person: { namespace: authorityOf(trusted), subject },
      issuedAt: payload.iat ?? 0,
      action: trusted[`on_${kind}`] ?? 'end_sessions',
    };
  } catch (error) {
    throw notAccepted(error);
  }
}

/** The error for any notification that is not accepted: only the log says why. */
function notAccepted(error: unknown): unknown {
  const reason =
    error instanceof errors.JOSEError
      ? reasonOf(error)
      : error instanceof ServiceError
        ? error.reason
        : undefined;
  if (reason === undefined) return error;
  const message = 'The payload is not a notification of this provider for this Login App.';
  return new ServiceError('invalid_request', message, { reason });
}
