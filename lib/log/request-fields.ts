import { AsyncLocalStorage } from 'node:async_hooks';
import type { RequestFields } from './events.ts';

const store = new AsyncLocalStorage<Partial<RequestFields>>();

/**
 * Runs what serves one request; all its log lines carry these fields, and those noted meanwhile.
 * @param fields the outermost caller's object gets what is noted
 */
export function withLogFields<Result>(fields: Partial<RequestFields>, run: () => Result): Result {
  const outer = store.getStore();
  return store.run(outer ? Object.assign(outer, fields) : fields, run);
}

/** Adds fields to all further log lines of this request. */
export function note(fields: Partial<RequestFields>): void {
  Object.assign(store.getStore() ?? {}, fields);
}

/** What is known of the request that is being served. */
export const requestFields = (): Partial<RequestFields> => store.getStore() ?? {};
