import { AsyncLocalStorage } from 'node:async_hooks';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { idForms } from '../id-forms.ts';
import { logAudit } from './log.ts';
import { requestFields } from './request-fields.ts';

/** Read the value of a field; undefined when it is none. */
const idOf = (form: RegExp) => (value: unknown) =>
  typeof value === 'string' && form.test(value) ? value : undefined;
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
  identity_id: idOf(/^i_[\w-]{22}$/),
  login_app_id: idOf(idForms['la_…']),
  login_user_id: idOf(idForms['lu_…']),
  session_id: idOf(/^s_[\w-]{22}$/),
  token_id: idOf(idForms['t_…']),
};

/** A kind of thing that an audit line can name. */
export type AuditedId = keyof typeof audited;
export type AuditedIds = { [Name in AuditedId]?: unknown };

/** What is known so far about a request that is audited. */
interface Trail {
  /** The scheme by which the caller is authenticated, or `unauthenticated`. */
  caller: string;
  ids: AuditedIds;
}

const trails = new AsyncLocalStorage<Trail>();
const unauthenticated = 'unauthenticated';

/** Serves a request that is audited, and then writes its line, whatever the outcome. */
export function withAuditLine(
  serve: () => Promise<APIGatewayProxyStructuredResultV2>,
): Promise<APIGatewayProxyStructuredResultV2> {
  const trail: Trail = { caller: unauthenticated, ids: {} };
  return trails.run(trail, async () => {
    const response = await serve();
    const { statusCode: status = 500 } = response;
    const result = status < 400 ? 'done' : status < 500 ? 'rejected' : 'failed';
    // What anybody at all can name says nothing.
    const ids = trail.caller === unauthenticated ? {} : trail.ids;
    // What is known of the caller counts more than what a request names.
    logAudit({ ...ids, ...requestFields(), caller: trail.caller, result, status });
    return response;
  });
}

/** Notes that the caller of this request is authenticated, by a scheme. */
export function auditCaller(scheme: string): void {
  const trail = trails.getStore();
  if (trail) trail.caller = scheme;
}

/** Notes the ids among these values: of a path, a body or a response. */
export function auditIds(values: unknown): void {
  Object.assign(trails.getStore()?.ids ?? {}, idsAmong(values));
}

/** The ids among the fields of an object. */
export function idsAmong(values: unknown): AuditedIds {
  const fields = new Map(Object.entries(Object(values)));
  return Object.fromEntries(
    Object.entries(audited)
      .map(([name, read]) => [name, read(fields.get(name))])
      .filter(([, id]) => id !== undefined),
  );
}
