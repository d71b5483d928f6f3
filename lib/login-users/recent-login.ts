import { epochSeconds } from '../foundation/clock.ts';
import { optionalEnvironmentSeconds } from '../foundation/environment.ts';
import { ServiceError } from '../foundation/service-error.ts';
import type { AuthenticatedUser } from './login-user.ts';

/** Seconds that a login counts as recent, unless the deployment sets another number. */
export const defaultRecentLoginSeconds = 900;

const recentLoginSeconds = optionalEnvironmentSeconds('RECENT_LOGIN_SECONDS');

/** Seconds that a login counts as recent; 0 for any login. */
const maxAge = (): number => recentLoginSeconds() ?? defaultRecentLoginSeconds;

/** Whether a person has logged in recently; always where any login will do. */
export function isLoginRecent({ loggedInAt }: AuthenticatedUser): boolean {
  const age = maxAge();
  return age === 0 || epochSeconds() - loggedInAt <= age;
}

/**
 * Lets nobody do what can't be undone with a token alone, which may be stolen: the person must have logged in recently.
 * @throws ServiceError `insufficient_user_authentication`
 * @see RFC 9470 section 3
 */
export function requireRecentLogin(user: AuthenticatedUser): void {
  if (isLoginRecent(user)) return;
  const message = `This needs a login at most ${maxAge()} seconds ago: log in again and repeat the request.`;
  throw new ServiceError('insufficient_user_authentication', message, {
    reason: 'login_not_recent',
    maxAge: maxAge(),
  });
}
