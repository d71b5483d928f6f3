import { epochSeconds } from '../../foundation/clock.ts';
import { type ErrorRecord, ServiceError } from '../../foundation/service-error.ts';
import { type LoginUser, loginUserItem, whileActive } from '../../login-users/login-user.ts';
import { updateItem } from '../../storage/items.ts';

const mostRejected = 10;
/** Seconds from the first rejected credential until the count begins anew. */
const windowSeconds = 600;

export const tooManyRejected: ErrorRecord = {
  when: `${mostRejected} credentials of the person were rejected within ${windowSeconds / 60} minutes. The provider is not asked.`,
  example: 'Too many credentials were rejected. Try again later.',
};

/** Runs a check of a person's credential, unless too many were rejected lately. @throws ServiceError `too_many_requests` */
export async function countingRejections<Result>(user: LoginUser, check: () => Promise<Result>) {
  const { rejected_credentials = 0, rejected_since = 0 } = user;
  const secondsLeft = rejected_since + windowSeconds - epochSeconds();
  if (rejected_credentials >= mostRejected && secondsLeft > 0)
    throw new ServiceError('too_many_requests', tooManyRejected.example, { retryAfterSeconds: secondsLeft });
  try {
    return await check();
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid_grant') await countRejection(user);
    throw error;
  }
}

/** Adds a rejection to the person's window, or begins a new one. Of several at once that begin one, the others add to it. */
async function countRejection({ login_user_id, rejected_since = 0 }: LoginUser): Promise<void> {
  const now = epochSeconds();
  const key = loginUserItem(login_user_id);
  if (rejected_since + windowSeconds <= now) {
    const begun = await updateItem(key, {
      set: { rejected_since: now, rejected_credentials: 1 },
      when: { ...whileActive, rejected_since: { isNotFrom: now - windowSeconds + 1 } },
    });
    if (begun.done) return;
  }
  await updateItem(key, { count: { rejected_credentials: { by: 1 } }, when: whileActive });
}
