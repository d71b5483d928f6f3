import type { AccessToken } from 'oidc-provider';
import { sendJson } from '../loopback-server.ts';
import type { SandboxProvider } from './sandbox-provider.ts';

/** The scope by which Google's calendar can be read. */
export const calendarScope = 'https://www.googleapis.com/auth/calendar.readonly';

/**
 * Google's calendar, for the access tokens of a provider: the list of events.
 * @see https://developers.google.com/workspace/calendar/api/v3/reference/events/list
 */
export const createCalendar = ({
  findAccessToken,
}: SandboxProvider): Pick<SandboxProvider, 'answer'> => ({
  async answer(path, { headers }, response) {
    if (path !== '/v3/calendars/primary/events') return refuse(404, 'Not Found.');
    const token = headers.authorization?.replace(/^Bearer /i, '') ?? '';
    const found = await findAccessToken?.(token);
    if (!found?.scope?.split(' ').includes(calendarScope))
      return refuse(401, 'Request had invalid authentication credentials.');
    return sendJson(response, 200, eventsOf(found));

    function refuse(code: number, message: string): void {
      sendJson(response, code, { error: { code, message } });
    }
  },
});

function eventsOf({ accountId }: AccessToken): object {
  const start = { dateTime: '2026-02-02T09:00:00Z' };
  const end = { dateTime: '2026-02-02T10:00:00Z' };
  const summary = `Breakfast with ${accountId}`;
  const items = [{ kind: 'calendar#event', id: 'breakfast', summary, start, end }];
  return { kind: 'calendar#events', items };
}
