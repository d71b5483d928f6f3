import * as v from 'valibot';
import type { AuthenticatedClient } from '../../login-apps/authenticate-client.ts';
import { keyRequired, refuseAsInvalidRequest, validated } from '../../validation.ts';
import type { TokenResponse } from '../token-response.ts';

/** Issues a token to a client for the parameters of its request. @throws Refusal */
export type Grant = (client: AuthenticatedClient, form: unknown) => Promise<TokenResponse>;

/** A grant: its parameters, and what it issues for them. Parameters it does not know are ignored (RFC 6749 section 3.2). */
export const grant =
  <Schema extends v.GenericSchema>(
    schema: Schema,
    issue: (client: AuthenticatedClient, parameters: v.InferOutput<Schema>) => Promise<TokenResponse>,
  ): Grant =>
  async (client, form) =>
    issue(client, validated(schema, form, refuseAsInvalidRequest));

/** Parameters of a form, by name. */
export const parameters = <const Entries extends v.ObjectEntries>(entries: Entries) =>
  v.object(entries, keyRequired('The parameter '));

/** A parameter that must come, once and with a value. */
export const required = (name: string) =>
  v.pipe(v.string(`The parameter ${name} is repeated.`), v.nonEmpty(`The parameter ${name} is empty.`));

/** A parameter that may come, but then once and with a value. */
export const optional = (name: string) => v.optional(required(name));

/** A parameter that must not come. */
export const forbidden = (name: string, why: string) =>
  v.optional(v.never(`The parameter ${name} must not be supplied ${why}.`));
