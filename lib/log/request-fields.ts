import { AsyncLocalStorage } from 'node:async_hooks';
import { idsAmong } from './audit.ts';
import type { RequestFields } from './events.ts';

interface RequestContext {
  /** Fields of all its log lines; `caller` and `outcome` stand in none but the audit line. */
  noted: Partial<RequestFields & { caller: string; outcome: string }>;
  /** Ids that its path, its body and its response name, or that it touched, for the audit line. */
  ids: object;
}

const requests = new AsyncLocalStorage<RequestContext>();

/**
 * Runs what serves one request; all its log lines carry these fields, and those noted meanwhile.
 * @param fields the outermost caller's object gets what is noted
 */
export function withRequest<Result>(fields: Partial<RequestFields>, run: () => Result): Result {
  const outer = requests.getStore();
  if (!outer) return requests.run({ noted: fields, ids: {} }, run);
  Object.assign(outer.noted, fields);
  return run();
}

/**
 * Adds fields to all further lines of this request, and to its audit line the scheme of an authenticated `caller`, or an
 * `outcome` that the status doesn't tell.
 */
export function annotateLog(fields: RequestContext['noted']): void {
  Object.assign(requests.getStore()?.noted ?? {}, fields);
}

/** Adds the ids among some fields to the audit line of this request. */
export function annotateIds(fields: unknown): void {
  Object.assign(requests.getStore()?.ids ?? {}, idsAmong(fields));
}

/** Ids that have been added to the audit line of this request. */
export const notedIds = (): object => requests.getStore()?.ids ?? {};

/** Fields of the request that is being served, for each of its lines. */
export function requestFields(): Partial<RequestFields> {
  const { caller, outcome, ...fields } = requests.getStore()?.noted ?? {};
  return fields;
}

/** Fields of the request's audit line, which names the caller. */
export function auditFields(): { caller: string } & Record<string, unknown> {
  const { noted = {}, ids } = requests.getStore() ?? {};
  const { caller = unauthenticated } = noted;
  // What anybody at all can name says nothing; and what is known of the caller counts more than what a request names.
  return { ...(caller !== unauthenticated && ids), ...noted, caller };
}

const unauthenticated = 'unauthenticated';
