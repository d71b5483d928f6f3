import type { IncomingMessage } from 'node:http';
import type { AccessToken } from 'oidc-provider';

/** The scope by which Google's calendar can be read. */
export const calendarScope = 'https://www.googleapis.com/auth/calendar.readonly';

/**
 * Path of the list of events, below a provider's own.
 * @see https://developers.google.com/workspace/calendar/api/v3/reference/events/list
 */
export const eventsPath = '/calendar/v3/calendars/primary/events';

export const bearerOf = ({ headers }: IncomingMessage): string =>
  headers.authorization?.replace(/^Bearer /i, '') ?? '';

/** The answer of Google's calendar: the events of whoever the access token is for. */
export function eventsFor(token: AccessToken | undefined): [status: number, body: object] {
  if (!token?.scope?.split(' ').includes(calendarScope)) {
    const message = 'Request had invalid authentication credentials.';
    return [401, { error: { code: 401, message, status: 'UNAUTHENTICATED' } }];
  }
  const start = { dateTime: '2026-02-02T09:00:00Z' };
  const end = { dateTime: '2026-02-02T10:00:00Z' };
  const summary = `Breakfast with ${token.accountId}`;
  const items = [{ kind: 'calendar#event', id: 'breakfast', summary, start, end }];
  return [200, { kind: 'calendar#events', items }];
}
