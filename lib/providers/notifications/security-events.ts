import type { JWTPayload } from 'jose';
import * as v from 'valibot';
import { logEvent } from '../../log/log.ts';
import { jsonObject } from '../../schema/validation.ts';
import { canonicalIssuer, type notificationEntries, providerSessionOf } from '../jwt/issuer.ts';
import type { KnownIssuer } from '../jwt/issuers-in-settings.ts';
import {
  issueTimeOf,
  logoutEvent,
  type Notification,
  ofSecurityEvents,
  personIn,
  type Received,
  refused,
  verifyFromIssuer,
} from './notification.ts';

type Setting = Exclude<keyof typeof notificationEntries, 'audiences'>;

const changed = ['credential_changed', 'on_credential_change', 'nothing'] as const;
const sessionsRevoked = ['sessions_revoked', 'on_sessions_revoked'] as const;
const tokensRevoked = ['tokens_revoked', 'on_tokens_revoked'] as const;

/**
 * Security events about a person, by the end of their URIs: kind, setting of the action, and the
 * action without it.
 */
const kinds = new Map<
  string,
  readonly [kind: Notification['kind'], setting?: Setting, otherwise?: 'nothing']
>([
  ['risc/event-type/account-disabled', ['account_disabled', 'on_account_disabled']],
  // Changes nothing: an operator's block stays, and so do ended sessions.
  ['risc/event-type/account-enabled', ['account_enabled']],
  ['risc/event-type/account-purged', ['account_purged', 'on_account_purged']],
  ['risc/event-type/account-credential-change-required', changed],
  ['risc/event-type/credential-compromise', ['credential_compromised', 'on_credential_change']],
  ['risc/event-type/identifier-changed', changed],
  ['risc/event-type/sessions-revoked', sessionsRevoked],
  ['caep/event-type/session-revoked', sessionsRevoked],
  ['caep/event-type/credential-change', changed],
  ['oauth/event-type/token-revoked', tokensRevoked],
  ['oauth/event-type/tokens-revoked', tokensRevoked],
  // Kakao's
  ['oauth/event-type/user-unlinked', ['unlinked', 'on_unlinked']],
]);
/** The end of the URIs of events about the stream itself. */
const ofStream = /^(risc|sse|ssf)\/event-type\/(verification|stream-updated)$/;
const uris = 'https://schemas.openid.net/secevent/';
/** The URIs of the events that the service knows. */
export const securityEvents = [
  ...kinds.keys(),
  'risc/event-type/verification',
  'sse/event-type/verification',
  'ssf/event-type/verification',
  'ssf/event-type/stream-updated',
].map((name) => `${uris}${name}`);

/** An event. Senders in PHP write one without members as an empty list. */
const eventSchema = v.union([
  jsonObject('no object'),
  v.pipe(
    v.strictTuple([]),
    v.transform(() => ({})),
  ),
]);
const eventsSchema = v.pipe(jsonObject('no object'), v.record(v.string(), eventSchema));

/**
 * @throws ServiceError, JOSEError, ProviderFailure
 * @see RFC 8417 section 2.2; OpenID RISC Profile, OpenID CAEP, OpenID Shared Signals Framework 1.0
 */
export async function verifySecurityEvents(issuers: KnownIssuer[], jwt: string): Promise<Received> {
  const { issuer, settings, payload, id } = await verifyFromIssuer(issuers, jwt, {
    types: ofSecurityEvents,
    claims: ['iat', 'jti'],
    isForMany: true,
  });
  const events = v.safeParse(eventsSchema, payload.events);
  const told = events.success ? Object.entries(events.output) : [];
  if (told.length === 0 || told.some(([uri]) => uri === logoutEvent))
    throw refused('The token has no security events.');
  const notifications = told.flatMap(([uri, event]): Notification[] => {
    const name = uri.startsWith(uris) ? uri.slice(uris.length) : '';
    const known = kinds.get(name);
    if (!known) {
      logOther(issuer.issuer, name, event);
      return [];
    }
    const [kind, setting, otherwise = 'end_sessions'] = known;
    return [
      {
        ...readSubject(issuer, payload, event),
        kind,
        issuedAt: issueTimeOf(payload),
        action: setting ? (settings[setting] ?? otherwise) : 'nothing',
        isHijacking:
          kind === 'account_disabled' && 'reason' in event && event.reason === 'hijacking',
      },
    ];
  });
  return { id, notifications };
}

/** Logs an event about the stream, or an unknown one. */
function logOther(issuer: string, name: string, event: object): void {
  const about = name.match(ofStream)?.[2];
  const status = 'status' in event && statuses.find((one) => one === event.status);
  if (about === 'stream-updated')
    logEvent('provider_stream_updated', { issuer, status: status || 'unknown' });
  else logEvent('provider_event_ignored', { issuer, kind: about ?? 'other' });
}
const statuses = ['enabled', 'paused', 'disabled'] as const;

type Subject = Pick<Notification, 'person' | 'providerSession'>;

const identifierSchema = v.looseObject({
  format: v.optional(v.string()),
  /** The name of `format` in the drafts, which Google and Kakao send. */
  subject_type: v.optional(v.string()),
  user: v.optional(v.unknown()),
  session: v.optional(v.looseObject({ id: v.optional(v.string()) })),
});

/**
 * The person or the session that an event is about, by the token, or by the event as in the drafts.
 * @see RFC 9493 section 3.2.3; OpenID Shared Signals Framework 1.0, section 3.2
 */
function readSubject(issuer: KnownIssuer, { sub, sub_id }: JWTPayload, event: object): Subject {
  const inEvent = 'subject' in event ? event.subject : undefined;
  const found = [sub_id, inEvent]
    .filter((one) => one !== undefined)
    .map((identifier) => readIdentifier(issuer, identifier));
  const [first] = found;
  if (!first) throw refused('The token names no subject.');
  const named = new Set([
    ...found.map(({ person }) => person?.subject),
    ...(sub === undefined ? [] : [sub]),
  ]);
  if (named.size > 1) throw refused('The token names different subjects.');
  return first;
}

/**
 * The person or the session that an identifier names. Within another one, it must be of the format
 * `iss_sub`.
 */
function readIdentifier(issuer: KnownIssuer, identifier: unknown, isWithin = false): Subject {
  const { success, output } = v.safeParse(identifierSchema, identifier);
  if (!success) throw refused('The subject is malformed.');
  const { subject_type = 'complex', format = subject_type, iss, user, session } = output;
  const form = format.replaceAll('-', '_');
  // Google names a token, but none that is kept here.
  if (form === 'oauth_token' && !isWithin) return {};
  if (form === 'complex' && !isWithin) {
    const providerSession = providerSessionOf(issuer, session?.id);
    const person = user === undefined ? undefined : readIdentifier(issuer, user, true).person;
    if (!person && providerSession === undefined)
      throw refused('A complex subject needs a user or a session.');
    return { person, providerSession };
  }
  if (form !== 'iss_sub') throw refused('The subject must be of the format iss_sub.');
  if (typeof iss !== 'string' || canonicalIssuer(iss) !== issuer.issuer)
    throw refused('The issuer of the subject is not the issuer of the token.');
  const person = personIn(issuer, output);
  if (!person) throw refused('The subject has no usable sub.');
  return { person };
}
