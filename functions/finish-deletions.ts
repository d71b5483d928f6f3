import { settleExpired } from '../lib/access-requests/store-decision.ts';
import { accessOf } from '../lib/http/endpoint.ts';
import { type Invocation, withInvocation } from '../lib/log/request-fields.ts';
import { expireGuests } from '../lib/people/deletion/expire-guests.ts';
import { finishDeletions } from '../lib/people/deletion/finish-deletions.ts';
import { forgetUnkept } from '../lib/people/provider-access/forget-unkept.ts';

/** All that is due, although its name says the first only: the log group keeps the name. */
export const access = accessOf({
  summary:
    "Finishes interrupted deletions, deletes guests, forgets providers' tokens that settings no longer keep, and stores that access requests expired",
  table: {
    login_apps: ['GetItem'],
    login_users: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
    devices: ['BatchGetItem', 'Query', 'UpdateItem'],
    access_requests: ['BatchGetItem', 'Query', 'UpdateItem'],
    access_request_lists: ['GetItem', 'PutItem'],
  },
  secrets: ['provider-settings'],
  seconds: 60,
  callsProviders: true,
});

/** @throws AggregateError when something could not be finished, so that the alarm goes off */
export const handler = (_: unknown, invocation: Invocation): Promise<void> =>
  withInvocation(invocation, async () => {
    // What fails in one does not keep the other from its work.
    const outcomes = await Promise.allSettled([
      finishInterrupted(),
      settleExpired(),
      expireGuests(),
      forgetUnkept(),
    ]);
    const failures = outcomes
      .filter((outcome) => outcome.status === 'rejected')
      .map(({ reason }): unknown => reason);
    if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join(' '));
  });

async function finishInterrupted(): Promise<void> {
  const { not_finished: failed = 0 } = await finishDeletions({ caller: 'schedule' });
  if (failed > 0) throw new Error(`${failed} could not be finished.`);
}
