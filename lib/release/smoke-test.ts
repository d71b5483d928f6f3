import { createLocalJWKSet, jwtVerify } from 'jose';
import * as v from 'valibot';
import { tokenAlgorithms } from '../signing/settings.ts';

const text = v.string();
/** A client of a Login App and an account that try a deployment out. */
export const probeSchema = v.object({
  issuer: text,
  login_app_id: text,
  client_id: text,
  client_secret: text,
  account_id: text,
  account_secret: text,
  /** An access request without events, which the account has access to. */
  access_request_id: v.number(),
});
export type Probe = v.InferOutput<typeof probeSchema>;

/** Sends a request: POST with a form, otherwise GET. @returns the body; undefined for a wrong answer, which it notes itself */
type Send = <Schema extends v.GenericSchema>(
  step: 'signing keys' | 'token' | 'search',
  body: Schema,
  request?: { headers?: Record<string, string>; form?: Record<string, string> },
) => Promise<v.InferOutput<Schema> | undefined>;

const keySchema = v.looseObject({ kty: v.string(), kid: v.string() });

/**
 * Uses a deployment as a stranger would: issues a token, verifies it with the published keys, and searches.
 * @param note reports a problem
 * @see RFC 9068, section 4
 */
export async function smokeTest(
  { issuer, login_app_id: audience, ...own }: Omit<Probe, 'access_request_id'>,
  send: Send,
  note: (problem: string) => void,
): Promise<void> {
  const keys = await send('signing keys', v.object({ keys: v.array(keySchema) }));
  if (!keys) return;
  const token = await send('token', v.looseObject({ access_token: v.string() }), {
    headers: { authorization: basic(own.client_id, own.client_secret) },
    form: { grant_type: 'client_credentials' },
  });
  const expected = { issuer, audience, typ: 'at+jwt', algorithms: [...tokenAlgorithms] };
  if (token)
    await jwtVerify(token.access_token, createLocalJWKSet(keys), expected).catch(() => note(unverifiable));
  const found = await send('search', v.looseObject({ results: v.array(v.unknown()) }), {
    headers: { authorization: basic(own.account_id, own.account_secret) },
  });
  if (found && found.results.length > 0) note('The search found events that nobody wrote.');
}

const unverifiable =
  'The token cannot be verified with the published keys, the issuer and the audience: verifiers reject it.';

/** The value of a header with HTTP Basic credentials. */
export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
