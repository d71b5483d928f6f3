import { createLocalJWKSet, jwtVerify } from 'jose';
import * as v from 'valibot';
import { tokenAlgorithms } from '../signing/settings.ts';

const text = v.string();
/** A Login App's client and a back-office account, with which a smoke test tries a deployment. */
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

export const keySetSchema = v.object({ keys: v.array(v.looseObject({ kty: text, kid: text })) });
export const tokenSchema = v.looseObject({ access_token: text });
export const searchSchema = v.looseObject({ total: v.number() });

/**
 * The reason why verifiers would reject a token of the probe's Login App, if they would.
 * @see RFC 9068, section 4
 */
export async function tokenProblem(
  { access_token }: v.InferOutput<typeof tokenSchema>,
  keys: v.InferOutput<typeof keySetSchema>,
  { issuer, login_app_id: audience }: Pick<Probe, 'issuer' | 'login_app_id'>,
): Promise<string | undefined> {
  const expected = { issuer, audience, typ: 'at+jwt', algorithms: [...tokenAlgorithms] };
  try {
    await jwtVerify(access_token, createLocalJWKSet(keys), expected);
    return undefined;
  } catch {
    return unverifiable;
  }
}

const unverifiable =
  'The token cannot be verified with the published keys, the issuer and the audience: verifiers reject it.';

/** The reason why the probe's search is wrong, if it is. */
export const searchProblem = ({ total }: v.InferOutput<typeof searchSchema>): string | undefined =>
  total > 0 ? 'The search found events that nobody wrote.' : undefined;

/** The value of a header with HTTP Basic credentials. */
export const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
