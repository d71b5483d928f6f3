import * as v from 'valibot';
import { logEvent } from '../../log/log.ts';
import { jsonObject } from '../../schema/validation.ts';
import type { KnownIssuer } from '../settings/issuers.ts';
import { authorityOf } from './issuer.ts';
import { type Notification, notAccepted, type Received } from './notification.ts';
import type { notificationEntries } from './notification-settings.ts';
import { logoutEvent, refused, verifyFromIssuer } from './signed-message.ts';
import { readSubject } from './subject-identifier.ts';

type Setting = Exclude<keyof typeof notificationEntries, 'audiences'>;

const changed = ['credential_changed', 'on_credential_change', 'nothing'] as const;
const sessionsRevoked = ['sessions_revoked', 'on_sessions_revoked'] as const;
const tokensRevoked = ['tokens_revoked', 'on_tokens_revoked'] as const;

/** Security events about a person, by the end of their URIs: the setting that says what happens, and the action without it. */
const kinds = new Map<
  string,
  readonly [kind: Notification['kind'], setting?: Setting, otherwise?: 'nothing']
>([
  ['risc/event-type/account-disabled', ['account_disabled', 'on_account_disabled']],
  // Whom an operator has blocked stays blocked, and sessions that have ended stay ended.
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
/** Events about the stream itself. */
const ofStream = /^(risc|sse|ssf)\/event-type\/(verification|stream-updated)$/;
const uris = 'https://schemas.openid.net/secevent/';
/** The URIs of the events that the service knows. */
export const securityEvents = [
  ...kinds.keys(),
  ...['risc', 'sse', 'ssf'].map((family) => `${family}/event-type/verification`),
  'ssf/event-type/stream-updated',
].map((name) => `${uris}${name}`);

const eventsSchema = v.pipe(jsonObject('no object'), v.record(v.string(), jsonObject('no object')));

/**
 * Verifies a security event token.
 * @throws ServiceError `invalid_request`, ProviderFailure
 * @see RFC 8417 section 2.2; OpenID RISC Profile, OpenID CAEP, OpenID Shared Signals Framework 1.0
 */
export async function verifySecurityEvents(issuers: KnownIssuer[], jwt: string): Promise<Received> {
  try {
    const { issuer, settings, payload, id } = await verifyFromIssuer(issuers, jwt, {
      types: /^(jwt|secevent\+jwt)?$/i,
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
      const { subject, providerSession } = readSubject(issuer, payload, event);
      return [
        {
          kind,
          person: subject === undefined ? undefined : { namespace: authorityOf(issuer), subject },
          providerSession,
          issuedAt: payload.iat ?? 0,
          action: setting ? (settings[setting] ?? otherwise) : 'nothing',
          isHijacking: kind === 'account_disabled' && 'reason' in event && event.reason === 'hijacking',
        },
      ];
    });
    return { id, notifications };
  } catch (error) {
    throw notAccepted(error, 'body is not a security event token');
  }
}

/** Logs an event that is about no person: one about the stream, or one that we do not know. */
function logOther(issuer: string, name: string, event: object): void {
  const [, , about] = name.match(ofStream) ?? [];
  const status = 'status' in event && statuses.find((one) => one === event.status);
  if (about === 'stream-updated')
    logEvent('provider_stream_updated', { issuer, status: status || 'unknown' });
  else logEvent('provider_event_ignored', { issuer, kind: about ?? 'other' });
}
const statuses = ['enabled', 'paused', 'disabled'] as const;
