import { accessOf } from '../lib/http/endpoint.ts';
import { type Invocation, withInvocation } from '../lib/log/request-fields.ts';
import { finishDeletions } from '../lib/people/deletion/finish-deletions.ts';

export const access = accessOf({
  summary: 'Finishes deletions that were interrupted',
  table: {
    login_apps: ['GetItem'],
    login_users: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
    devices: ['BatchGetItem', 'Query', 'UpdateItem'],
  },
  secrets: ['provider-settings'],
  // Some seconds of work, of which the last piece may wait for a provider.
  seconds: 30,
});

/** @throws Error when something could not be finished, so that the alarm goes off */
export const handler = (_: unknown, invocation: Invocation): Promise<void> =>
  withInvocation(invocation, async () => {
    const { not_finished: failed = 0 } = await finishDeletions({ caller: 'schedule' });
    if (failed > 0) throw new Error(`${failed} could not be finished.`);
  });
