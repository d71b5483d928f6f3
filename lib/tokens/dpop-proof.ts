import { createPublicKey, hash, verify } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import type { LogReason } from '../foundation/reasons.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { proofAlgorithms } from '../login-apps/client-metadata.ts';
import { endOfNonce, newNonce } from '../providers/service-nonce.ts';
import { required } from '../schema/form-parameters.ts';
import { described, jsonSchema } from '../schema/json-schema.ts';
import { useOnce } from '../storage/use-once.ts';
import { issuer } from './issuer.ts';

export const clientIdParameter = {
  client_id: v.optional(
    described(
      v.pipe(required('client_id'), jsonSchema({ type: 'string' })),
      'The client, if it is a public one: those send no `Authorization`.',
    ),
  ),
};

/** Seconds that the clock of a phone may be off without a nonce. */
const leeway = 60;

const headerSchema = v.object({
  /** A media type. @see RFC 7515, section 4.1.9 */
  typ: v.pipe(v.string(), v.regex(/^(application\/)?dpop\+jwt$/i)),
  alg: v.picklist(proofAlgorithms),
  jwk: v.object({
    kty: v.literal('EC'),
    crv: v.literal('P-256'),
    x: v.string(),
    y: v.string(),
    // A key with its private part is everybody's.
    d: v.exactOptional(v.never()),
  }),
  crit: v.exactOptional(v.never()),
});

const timeSchema = (fits: (time: number) => boolean) => v.exactOptional(v.pipe(v.number(), v.check(fits)));
/** @see RFC 7519, sections 4.1.4 and 4.1.5 */
const validNowSchema = v.looseObject({
  exp: timeSchema((end) => end > epochSeconds()),
  nbf: timeSchema((beginning) => beginning <= epochSeconds()),
});

const claimsSchema = v.object({
  jti: v.pipe(v.string(), v.nonEmpty()),
  htm: v.string(),
  htu: v.pipe(v.string(), v.url()),
  iat: v.number(),
  nonce: v.exactOptional(v.string()),
});

/**
 * The thumbprint of the key that a POST to a path is proved by.
 * @param proof the header `DPoP`
 * @throws ServiceError `invalid_dpop_proof`; `use_dpop_nonce` with a nonce
 * @see RFC 9449, sections 4.3 and 8
 */
export async function verifyProof(proof: string | undefined, path: string): Promise<string> {
  if (proof === undefined)
    throw refused('Send a proof in the header DPoP: the client is public.', 'proof_missing');

  // 1. It is signed by the key in its header.
  const { payload, jwk } = signedContent(proof) ?? {};
  if (!jwk) throw refused(malformed, 'proof_malformed');
  const claims = v.safeParse(claimsSchema, payload);
  if (!claims.success)
    throw refused('The proof must have the claims jti, htm, htu and iat.', 'claim_invalid');
  const { jti, htm, htu, iat, nonce } = claims.output;

  // 2. It is for this request.
  const { origin, pathname } = new URL(htu);
  if (htm !== 'POST' || `${origin}${pathname}` !== `${issuer()}${path}`)
    throw refused(`The proof must be for htm POST and htu ${issuer()}${path}.`, 'proof_for_another_request');

  // 3. It is of this minute, or has a nonce, whatever the clock of the phone says.
  const end = nonce === undefined ? endByClock(iat) : await endOfNonce('proof', issuer(), nonce);
  if (end === undefined) {
    const proofNonce = await newNonce('proof', issuer());
    throw new ServiceError('use_dpop_nonce', outdated, { reason: 'proof_outdated', proofNonce });
  }

  // 4. It was not used before.
  const { crv, kty, x, y } = jwk;
  // RFC 7638, section 3.2
  const thumbprint = hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');
  if (!(await useOnce(end, 'proof', thumbprint, jti)))
    throw refused('The proof has been used; make a new one for each request.', 'proof_used');
  return thumbprint;
}

/** The payload of a proof, and the key that signed it, for half of what jose's WebCrypto costs. @see RFC 7515, section 5.2 */
function signedContent(proof: string) {
  try {
    const { jwk } = v.parse(headerSchema, decodeProtectedHeader(proof));
    const end = proof.lastIndexOf('.');
    const text = Buffer.from(proof.slice(0, end));
    const signature = Buffer.from(proof.slice(end + 1), 'base64url');
    const key = createPublicKey({ format: 'jwk', key: jwk });
    const isSigned = verify('sha256', text, { key, dsaEncoding: 'ieee-p1363' }, signature);
    return isSigned ? { payload: v.parse(validNowSchema, decodeJwt(proof)), jwk } : undefined;
  } catch {
    // Whatever fails is the proof's fault: its key may not be on the curve.
    return undefined;
  }
}

const malformed =
  'The proof must be a JWT of the typ dpop+jwt, signed by ES256 with the public key in its header.';
const outdated = 'The proof is not of this minute: make one with the nonce in the header DPoP-Nonce.';

const endByClock = (iat: number): number | undefined =>
  Math.abs(epochSeconds() - iat) <= leeway ? Math.floor(iat) + leeway + 1 : undefined;

const refused = (description: string, reason: LogReason): ServiceError =>
  new ServiceError('invalid_dpop_proof', description, reason);
