import { AsyncLocalStorage } from 'node:async_hooks';
import { idForms } from '../foundation/ids.ts';
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

/** Read the value of a field; undefined when it is none. */
const idOf = (form: RegExp) => (value: unknown) =>
  typeof value === 'string' && form.test(value) ? value : undefined;
const idsOf = (form: RegExp) => (value: unknown) =>
  Array.isArray(value) && value.length > 0 && value.every(idOf(form)) ? value : undefined;
const numberOf = (value: unknown) => {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? number : undefined;
};

/**
 * The ids that an audit line names, and what they look like: a value of another form could be anything, even a secret,
 * and is left out. Those of the caller come from what is noted for every line.
 */
const audited = {
  access_request_id: numberOf,
  event_id: numberOf,
  account_id: idOf(idForms['ac_…']),
  client_id: idOf(idForms['la_….c_…']),
  device_id: idOf(idForms['d_…']),
  evicted_device_ids: idsOf(idForms['d_…']),
  former_device_id: idOf(idForms['d_…']),
  former_login_user_id: idOf(idForms['lu_…']),
  identity_id: idOf(idForms['i_…']),
  key_thumbprints: idsOf(idForms.THUMBPRINT),
  login_app_id: idOf(idForms['la_…']),
  login_user_id: idOf(idForms['lu_…']),
  session_id: idOf(idForms['s_…']),
  token_id: idOf(idForms['t_…']),
};

/** A kind of thing that an audit line can name. */
export type AuditedId = keyof typeof audited;

/** The ids among the fields of an object. */
export function idsAmong(values: unknown): { [Name in AuditedId]?: unknown } {
  const fields = new Map(Object.entries(Object(values)));
  return Object.fromEntries(
    Object.entries(audited)
      .map(([name, read]) => [name, read(fields.get(name))])
      .filter(([, id]) => id !== undefined),
  );
}
