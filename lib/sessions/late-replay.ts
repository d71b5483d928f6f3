import { epochSeconds } from '../clock.ts';
import { environmentSeconds } from '../environment.ts';
import { updateItem } from '../storage/items.ts';
import { sessionKey } from '../storage/keys.ts';
import type { Session } from './session.ts';

/** Seconds after a refresh; when the token that it replaced comes back later than that, it is a late replay. */
const replaySeconds = environmentSeconds('REFRESH_REPLAY_SECONDS');

/** Generations in a row with a late replay that end a session. */
const mostGenerations = 3;

/**
 * Counts a replay of the latest predecessor if it is late, once per generation. One lost response is a late replay
 * too; in one generation after the other it is two parties that take turns.
 * @returns whether the session must end
 */
export async function isLateReplayTooMany(session: Session): Promise<boolean> {
  const { generation, refreshed_at = 0, replayed_generation, late_replays = 0 } = session;
  if (epochSeconds() - refreshed_at <= replaySeconds()) return false;
  if (replayed_generation === generation) return false;
  const inRow = replayed_generation === generation - 1 ? late_replays + 1 : 1;
  if (inRow >= mostGenerations) return true;
  // Of several at once, the first one counts; one that is overtaken by the next generation's takes nothing back.
  await updateItem<Session>(sessionKey(session.login_user_id, session.session_id), {
    set: { replayed_generation: generation, late_replays: inRow },
    when: {
      session_id: { is: session.session_id },
      ended_at: { exists: false },
      replayed_generation:
        replayed_generation === undefined ? { exists: false } : { is: replayed_generation },
    },
  });
  return false;
}
