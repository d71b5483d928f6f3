import { epochSeconds } from '../../foundation/clock.ts';
import { environmentSeconds } from '../../foundation/environment.ts';

/** Seconds after which a session that is not refreshed ends. */
const idleLifetime = environmentSeconds('SESSION_IDLE_SECONDS');

/** Seconds after which a session ends, however often it is refreshed. */
const absoluteLifetime = environmentSeconds('SESSION_ABSOLUTE_SECONDS');

/**
 * Epoch seconds of the idle or absolute end of a session that is used now, or of the end of the
 * session at the provider or of the guest, whichever comes first.
 */
export function endOf(startedAt: number, providerEnd = Infinity, guestEnd = Infinity): number {
  const idleEnd = epochSeconds() + idleLifetime();
  const absoluteEnd = startedAt + absoluteLifetime();
  return Math.min(idleEnd, absoluteEnd, providerEnd, guestEnd);
}
