import { epochSeconds } from '../foundation/clock.ts';
import { optionalEnvironment, optionalEnvironmentSeconds } from '../foundation/environment.ts';
import type { LogReason } from '../foundation/reasons.ts';
import { ServiceError } from '../foundation/service-error.ts';
import type { AuthenticatedUser } from './login-user.ts';

/** Seconds that a login counts as recent, unless the deployment sets another number; 0 for any login. */
export const defaultRecentLoginSeconds = 900;
const recentLoginSeconds = optionalEnvironmentSeconds('RECENT_LOGIN_SECONDS');
const maxAge = (): number => recentLoginSeconds() ?? defaultRecentLoginSeconds;

export const isLoginRecent = ({ started_at }: AuthenticatedUser): boolean =>
  maxAge() === 0 || epochSeconds() - started_at <= maxAge();

/**
 * Lets nobody do what can't be undone with a token alone, which may be stolen: the person must have logged in recently.
 * @throws ServiceError `insufficient_user_authentication` @see RFC 9470 section 3
 */
export function requireRecentLogin(user: AuthenticatedUser): void {
  if (isLoginRecent(user)) return;
  const message = `This needs a login at most ${maxAge()} seconds ago: log in again and repeat the request.`;
  throw insufficient(message, 'login_not_recent', { max_age: maxAge() });
}

/**
 * Lets nobody change how an account is reached, or end it, unless they have logged in recently and, where the deployment
 * demands it, in one of its authentication context classes. @throws ServiceError `insufficient_user_authentication`
 */
export function requireStepUp(user: AuthenticatedUser): void {
  const acr_values = optionalEnvironment('STEP_UP_ACR_VALUES');
  const message =
    'This needs a login with one of the acr_values: log in again with it, and repeat the request.';
  if (acr_values && !acr_values.split(' ').includes(user.login_claims?.acr ?? ''))
    throw insufficient(message, 'acr_insufficient', { acr_values });
  requireRecentLogin(user);
}

const insufficient = (message: string, reason: LogReason, challenge: Record<string, string | number>) =>
  new ServiceError('insufficient_user_authentication', message, { reason, challenge });
