import { epochSeconds } from '../../foundation/clock.ts';
import { environmentSeconds } from '../../foundation/environment.ts';
import type { LogReason } from '../../foundation/reasons.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import { annotateLog } from '../../log/request-fields.ts';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { findStatus, type LoginAppSwitches } from '../../login-apps/status.ts';
import { blockedError } from '../../login-users/blocked.ts';
import { updateItem } from '../../storage/items.ts';
import { sessionKey } from '../../storage/keys.ts';
import { endSession } from './end-session.ts';
import { readLoginUserWithSession } from './login-user-with-session.ts';
import { isActive, type Session, type SessionGeneration, standing } from './session.ts';
import { rotateRefreshToken } from './session-store.ts';

/** Seconds after a refresh; when the token that it replaced comes back later than that, it is a late replay. */
const replaySeconds = environmentSeconds('REFRESH_REPLAY_SECONDS');

/** Generations in a row with a late replay that end a session. */
const mostGenerations = 3;

/**
 * Moves the session of a refresh token to its next generation. An outdated token ends its session, and so does a
 * predecessor that comes back late in several generations in a row: somebody else has a copy.
 * @param content what the refresh token says; undefined for a text that is no refresh token of ours
 * @throws ServiceError `invalid_grant`, whatever is wrong with the token; `unauthorized_client` for a blocked person
 * @see RFC 9700 section 4.14.2
 */
export async function refreshSession(client: AuthenticatedClient, content: SessionGeneration | undefined) {
  if (!content) throw invalidToken('refresh_token_malformed');
  annotateLog({ login_user_id: content.loginUserId, session_id: content.sessionId });
  const [{ user, session }, switches] = await Promise.all([
    readLoginUserWithSession(content.loginUserId, content.sessionId),
    findStatus(client.loginAppId),
  ]);
  if (!session || !isActive(session, switches)) throw invalidToken('session_ended');
  if (session.client_id !== client.clientId) throw invalidToken('issued_to_another_client');
  if (!user) throw invalidToken('session_ended');
  if (user.blocked_at) {
    logEvent('login_user_refused', { login_user_id: content.loginUserId });
    throw blockedError('unauthorized_client');
  }
  return successorOf(session, content, switches);
}

async function successorOf(
  session: Session,
  content: SessionGeneration,
  switches: LoginAppSwitches,
): Promise<Session> {
  const { login_user_id, session_id, generation } = session;
  const of = { login_user_id, session_id, generation };
  switch (standing(session, content.generation)) {
    case 'current': {
      const { moved, session: next } = await rotateRefreshToken(session);
      if (moved && next) return next;
      if (!next || !isActive(next, switches)) throw invalidToken('session_ended');
      // Other requests were faster, perhaps by more than a generation. The token was current when it came: nobody stole it.
      logEvent('refresh_token_repeated', { ...of, generation: next.generation });
      return next;
    }
    case 'predecessor':
      if (await isLateReplayTooMany(session)) {
        logEvent('refresh_token_replayed', of);
        await endSession(login_user_id, session_id, 'reuse', 'reuse');
        throw invalidToken('refresh_token_replayed');
      }
      logEvent('refresh_token_repeated', of);
      return session;
    case 'outdated':
      logEvent('refresh_token_reused', { ...of, presented_generation: content.generation });
      await endSession(login_user_id, session_id, 'reuse');
      throw invalidToken('refresh_token_reused');
  }
}

/**
 * Counts a replay of the latest predecessor if it is late, once per generation. One lost response is a late replay
 * too; in one generation after the other it is two parties that take turns.
 * @returns whether the session must end
 */
async function isLateReplayTooMany(session: Session): Promise<boolean> {
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

const invalidToken = (reason: LogReason): ServiceError =>
  new ServiceError('invalid_grant', 'The refresh token is not valid for this client.', { reason });
