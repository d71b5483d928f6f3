import { epochSeconds } from '../foundation/clock.ts';
import { optionalEnvironment, optionalEnvironmentSeconds } from '../foundation/environment.ts';
import type { LogReason } from '../foundation/reasons.ts';
import { ServiceError } from '../foundation/service-error.ts';
import type { AuthenticatedUser } from './login-user.ts';

/**
 * Seconds for which a login is recent, unless the deployment sets another number. With 0, every
 * login is.
 */
export const defaultRecentLoginSeconds = 900;
const maxAge = optionalEnvironmentSeconds('RECENT_LOGIN_SECONDS', defaultRecentLoginSeconds);

type LoginTimes = Pick<AuthenticatedUser, 'started_at' | 'auth_time'>;

/**
 * Epoch seconds at which the person of a session proved who they are. By single sign-on, that may
 * be long before the session began here.
 */
export const authTimeOf = ({ started_at, auth_time = started_at }: LoginTimes): number =>
  Math.min(started_at, auth_time);

export function isLoginRecent(user: AuthenticatedUser): boolean {
  if (maxAge() === 0) return true;
  const age = epochSeconds() - authTimeOf(user);
  return age <= maxAge();
}

/**
 * @throws ServiceError `insufficient_user_authentication` unless the login is recent
 * @see RFC 9470 section 3
 */
export function requireRecentLogin(user: AuthenticatedUser): void {
  if (isLoginRecent(user)) return;
  const message = `This needs a login at most ${maxAge()} seconds ago: log in again and repeat the request.`;
  throw insufficient(message, 'login_not_recent', { max_age: maxAge() });
}

/**
 * Requires an access token that was issued as recently as a login must be. Whoever has got one of a
 * confidential client can't get the next one.
 * @throws ServiceError `insufficient_user_authentication` unless it is
 */
export function requireRecentToken({ issued_at }: AuthenticatedUser): void {
  if (maxAge() === 0 || epochSeconds() - issued_at <= maxAge()) return;
  const message = `This needs an access token that was issued at most ${maxAge()} seconds ago: refresh it and repeat the request.`;
  throw insufficient(message, 'token_not_recent', { max_age: maxAge() });
}

/**
 * @throws ServiceError `insufficient_user_authentication` unless the login is recent, with an `acr`
 *   that the deployment wants
 */
export function requireStepUp(user: AuthenticatedUser): void {
  requireAcr(user);
  requireRecentLogin(user);
}

function requireAcr({ login_claims = {} }: AuthenticatedUser): void {
  const acr_values = optionalEnvironment('STEP_UP_ACR_VALUES');
  if (!acr_values) return;
  const { acr = '' } = login_claims;
  if (acr_values.split(' ').includes(acr)) return;
  const message =
    'This needs a login with one of the acr_values: log in again with it, and repeat the request.';
  throw insufficient(message, 'acr_insufficient', { acr_values });
}

const insufficient = (
  message: string,
  reason: LogReason,
  challenge: Record<string, string | number>,
) => new ServiceError('insufficient_user_authentication', message, { reason, challenge });
