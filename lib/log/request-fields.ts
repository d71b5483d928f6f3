import { AsyncLocalStorage } from 'node:async_hooks';
import type { Context } from 'aws-lambda';
import { definedOnly } from '../foundation/defined-only.ts';
import { optionalEnvironment } from '../foundation/environment.ts';
import { type IdForm, isId } from '../foundation/ids.ts';
import type { RequestFields } from './events.ts';

interface RequestContext {
  /** Fields of all its log lines; `caller` and `outcome` are for the audit line alone. */
  noted: Partial<RequestFields & { caller: string; outcome: string }>;
  /** Ids in its path, body and response, or that it touched, for the audit line. */
  ids: object;
}

const requests = new AsyncLocalStorage<RequestContext>();

/**
 * Serves a request, whose log lines have these fields and those noted meanwhile. The outermost
 * caller's object gets them.
 */
export function withRequest<Result>(fields: Partial<RequestFields>, run: () => Result): Result {
  const outer = requests.getStore();
  if (!outer) return requests.run({ noted: fields, ids: {} }, run);
  Object.assign(outer.noted, fields);
  return run();
}

/** The part of Lambda's context that log lines need. */
export type Invocation = Pick<Context, 'awsRequestId'>;

/**
 * Runs a function that has no caller over HTTP, whose log lines have the ids of the invocation. Its
 * request is the invocation.
 */
export const withInvocation = <Result>(invocation: Invocation, run: () => Result): Result =>
  withRequest({ request_id: invocation.awsRequestId, ...invocationFields(invocation) }, run);

/**
 * Fields of each line of an invocation. Lambda puts the trace into the environment, even if X-Ray
 * does not sample it; elsewhere there is none.
 * @see AWS Lambda developer guide, "Defined runtime environment variables"
 */
export function invocationFields({ awsRequestId }: Invocation) {
  const header = optionalEnvironment('_X_AMZN_TRACE_ID') ?? '';
  const trace_id = /^Root=(1-[\da-f]{8}-[\da-f]{24})\b/.exec(header)?.[1];
  return definedOnly({ lambda_request_id: awsRequestId, trace_id });
}

/** Adds fields to further lines of this request, and to its audit line. */
export function annotateLog(fields: RequestContext['noted']): void {
  Object.assign(requests.getStore()?.noted ?? {}, fields);
}

/** Adds the ids among some fields to the request's audit line. */
export function annotateIds(fields: unknown): void {
  Object.assign(requests.getStore()?.ids ?? {}, idsAmong(fields));
}

export const notedIds = (): object => requests.getStore()?.ids ?? {};

/** Fields of each line of the request. */
export function requestFields(): Partial<RequestFields> {
  const { caller, outcome, ...fields } = requests.getStore()?.noted ?? {};
  return fields;
}

/** Fields of the request's audit line. */
export function auditFields(): { caller: string } & Record<string, unknown> {
  const { noted = {}, ids } = requests.getStore() ?? {};
  const { caller = unauthenticated } = noted;
  // Anybody can name ids. What is known of the caller counts more than what the request names.
  return { ...(caller !== unauthenticated && ids), ...noted, caller };
}

/** The caller in an audit line of a request whose caller is not known. */
export const unauthenticated = 'unauthenticated';

const idOf = (form: IdForm) => (value: unknown) =>
  typeof value === 'string' && isId(form, value) ? value : undefined;
const idsOf = (form: IdForm) => (value: unknown) =>
  Array.isArray(value) && value.length > 0 && value.every(idOf(form)) ? value : undefined;
const numberOf = (value: unknown) => {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) ? number : undefined;
};

/** The ids that an audit line names. A value of another form could be a secret, and is left out. */
const audited = {
  access_request_id: numberOf,
  event_id: numberOf,
  account_id: idOf('ac_…'),
  client_id: idOf('la_….c_…'),
  device_id: idOf('d_…'),
  evicted_device_ids: idsOf('d_…'),
  former_device_id: idOf('d_…'),
  former_login_user_id: idOf('lu_…'),
  identity_id: idOf('i_…'),
  key_thumbprints: idsOf('THUMBPRINT'),
  login_app_id: idOf('la_…'),
  login_user_id: idOf('lu_…'),
  merged_from: idOf('lu_…'),
  merged_into: idOf('lu_…'),
  session_id: idOf('s_…'),
  token_id: idOf('t_…'),
};

export type AuditedId = keyof typeof audited;

export function idsAmong(values: unknown): { [Name in AuditedId]?: unknown } {
  const fields = new Map(Object.entries(Object(values)));
  const ids = Object.entries(audited).map(([name, read]) => [name, read(fields.get(name))]);
  return Object.fromEntries(ids.filter(([, id]) => id !== undefined));
}
