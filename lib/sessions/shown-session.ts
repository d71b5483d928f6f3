import * as v from 'valibot';
import { isoTime } from '../clock.ts';
import { findSwitches } from '../login-apps/switches.ts';
import { timestampField } from '../schema/wire.ts';
import { isActive, readSessions, type Session } from './session.ts';

/** A session as its owner sees it. */
const shownSessionSchema = v.pipe(
  v.object({
    id: v.pipe(v.string(), v.description('The `sid` of its access tokens.')),
    current: v.pipe(v.boolean(), v.description('Whether it is the session of the request.')),
    created_at: timestampField,
    last_used_at: v.pipe(
      timestampField,
      v.description('The latest refresh, or the login. What an access token is used for does not count.'),
    ),
    expires_at: v.pipe(timestampField, v.description('When it ends unless it is refreshed before.')),
  }),
  v.title('Session'),
);

/** The sessions of a person. */
export const sessionListSchema = v.object({ sessions: v.array(shownSessionSchema) });

/** The active sessions of a person, the one used last first. @param current the id of the one that asks */
export async function listSessions(
  loginUserId: string,
  loginAppId: string,
  current: string,
): Promise<v.InferOutput<typeof sessionListSchema>> {
  const [sessions, switches] = await Promise.all([readSessions(loginUserId), findSwitches(loginAppId)]);
  const active = sessions.filter((session) => isActive(session, switches));
  return { sessions: active.toSorted((a, b) => lastUsed(b) - lastUsed(a)).map((one) => shown(one, current)) };
}

/** Epoch seconds: what the latest refresh has written, so that no request writes more for it. */
const lastUsed = ({ refreshed_at, started_at }: Session): number => refreshed_at ?? started_at;

const shown = (session: Session, current: string): v.InferOutput<typeof shownSessionSchema> => ({
  id: session.session_id,
  current: session.session_id === current,
  created_at: session.created_at,
  last_used_at: session.refreshed_at === undefined ? session.created_at : isoTime(session.refreshed_at),
  expires_at: isoTime(session.expires_at),
});
