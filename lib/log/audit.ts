import { idForms } from '../foundation/ids.ts';

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
export type AuditedIds = { [Name in AuditedId]?: unknown };

/** The ids among the fields of an object. */
export function idsAmong(values: unknown): AuditedIds {
  const fields = new Map(Object.entries(Object(values)));
  return Object.fromEntries(
    Object.entries(audited)
      .map(([name, read]) => [name, read(fields.get(name))])
      .filter(([, id]) => id !== undefined),
  );
}
