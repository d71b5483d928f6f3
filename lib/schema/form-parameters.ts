import * as v from 'valibot';
import { keyRequired } from './validation.ts';

/** The schema of a form with these parameters. Others are ignored (RFC 6749 section 3.2). */
export const parameters = <const Entries extends v.ObjectEntries>(entries: Entries) =>
  v.object(entries, keyRequired('The parameter '));
export type Parameters<Entries extends v.ObjectEntries> = ReturnType<typeof parameters<Entries>>;

/** A parameter that must be sent once, with a value. */
export const required = (name: string) =>
  v.pipe(v.string(`The parameter ${name} is repeated.`), v.nonEmpty(`The parameter ${name} is empty.`));

/** A parameter that may be left out; otherwise it must be sent once, with a value. */
export const optional = (name: string) => v.optional(required(name));

/** A parameter that must not be sent: one that this endpoint knows, but that makes no sense in this request. */
export const forbidden = (name: string, why: string) =>
  v.optional(v.never(`The parameter ${name} must not be supplied ${why}.`));
