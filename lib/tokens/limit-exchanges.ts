import { optionalEnvironmentNumber } from '../foundation/environment.ts';
import { ServiceError } from '../foundation/service-error.ts';
import type { AuthenticatedClient } from '../login-apps/clients.ts';
import { limitUses } from '../storage/limit-uses.ts';

/** The most exchanges of a client in a minute, unless the deployment sets another number. */
export const defaultProviderTokensPerMinute = 600;
const mostInMinute = optionalEnvironmentNumber(
  'PROVIDER_TOKENS_PER_MINUTE',
  defaultProviderTokensPerMinute,
);

/**
 * Counts an exchange of a client.
 * @throws ServiceError `too_many_requests` for one too many in this minute
 */
export async function countExchange({ clientId }: AuthenticatedClient): Promise<void> {
  const most = mostInMinute();
  const retryAfterSeconds = await limitUses({ most, seconds: 60 }, 'exchange', clientId);
  if (retryAfterSeconds === undefined) return;
  const message = `The client may get ${most} tokens of providers in a minute.`;
  throw new ServiceError('too_many_requests', message, { retryAfterSeconds });
}
