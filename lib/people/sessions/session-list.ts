import * as v from 'valibot';
import { isoTime } from '../../foundation/clock.ts';
import { findStatus } from '../../login-apps/status.ts';
import type { LoginUser } from '../../login-users/login-user.ts';
import { queryInteger, queryParameter } from '../../schema/form-parameters.ts';
import { described, textField, timestampField } from '../../schema/json-schema.ts';
import { isActive, readSessions, type Session } from './session.ts';

type SessionsQuery = v.InferOutput<v.ObjectSchema<typeof sessionsQuery, undefined>>;

/** A position in the list, as `positionOf` writes it. */
const cursorForm = /^\d{10}\.s_[\w-]{22}$/;

const shownSessionSchema = v.pipe(
  v.object({
    id: textField('The `sid` of its access tokens.'),
    current: described(v.boolean(), 'Whether it is the session of the request.'),
    name: described(v.optional(v.string()), 'The `session_name` of its login.'),
    created_at: timestampField,
    last_used_at: described(
      timestampField,
      'The latest refresh, or the login. What an access token is used for does not count.',
    ),
    expires_at: described(timestampField, 'When it ends unless it is refreshed before.'),
  }),
  v.title('Session'),
);

export const sessionListSchema = v.object({
  sessions: v.array(shownSessionSchema),
  next_cursor: described(
    v.optional(v.string()),
    'The `cursor` of the next page; absent on the last one.',
  ),
});

export const sessionsQuery = {
  limit: queryInteger(
    'limit',
    [1, 100],
    'How many sessions a page has at most. Without it, all are on one page.',
  ),
  cursor: queryParameter(
    'cursor',
    v.pipe(v.string(), v.regex(cursorForm, 'The parameter cursor must be a next_cursor.')),
    { type: 'string', pattern: cursorForm.source },
    'The `next_cursor` of the page before.',
  ),
};

/** The active sessions of a person, the one used last first. */
export async function listSessions(
  { login_user_id, login_app_id }: LoginUser,
  { current, limit = Infinity, cursor }: { current: string } & SessionsQuery,
): Promise<v.InferOutput<typeof sessionListSchema>> {
  const [sessions, status] = await Promise.all([
    readSessions(login_user_id),
    findStatus(login_app_id),
  ]);
  const active = sessions
    .filter((session) => isActive(session, status))
    .map((session) => ({ session, position: positionOf(session) }))
    .toSorted((a, b) => (a.position < b.position ? 1 : -1));
  const rest = active.filter(({ position }) => cursor === undefined || position < cursor);
  const page = rest.slice(0, limit);
  return {
    sessions: page.map(({ session }) => shownSession(session, current)),
    next_cursor: rest.length > limit ? page.at(-1)?.position : undefined,
  };
}

function shownSession(session: Session, current: string): v.InferOutput<typeof shownSessionSchema> {
  const { session_id, name, created_at, refreshed_at } = session;
  return {
    id: session_id,
    current: session_id === current,
    name,
    created_at,
    last_used_at: refreshed_at === undefined ? created_at : isoTime(refreshed_at),
    expires_at: isoTime(session.expires_at),
  };
}

/**
 * The position of a session in the list, in the order of text: the time of its latest refresh or
 * its start, then its id.
 */
function positionOf({ refreshed_at, started_at, session_id }: Session): string {
  const lastUsed = refreshed_at ?? started_at;
  return `${String(lastUsed).padStart(10, '0')}.${session_id}`;
}
