import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { isOfType } from '../foundation/media-type.ts';
import type { LogReason } from '../foundation/reasons.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { proofAlgorithms } from '../login-apps/client-metadata.ts';
import type { AuthenticatedClient, Proof } from '../login-apps/clients.ts';
import { endOfNonce, newNonce } from '../providers/service-nonce.ts';
import { required } from '../schema/form-parameters.ts';
import { described, jsonSchema } from '../schema/json-schema.ts';
import { accessTokenLifetime } from '../signing/settings.ts';
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

/** Seconds for which a nonce outlives the access token that comes with it. */
const afterAccessToken = 600;

const malformed =
  'The proof must be a JWT of the typ dpop+jwt, signed by ES256 with the public key in its header.';
const aboutKey =
  'The jwk in the header of the proof must be a public key on P-256: kty EC, crv P-256, x and y.';
const privateKeySent =
  'The jwk in the header of the proof has the private key (d). Make a new key, and send its public part alone.';

/** Each part names what is wrong with it; the object, what is missing. */
const headerSchema = v.object(
  {
    typ: v.pipe(
      v.string('The header of the proof must have the typ dpop+jwt.'),
      v.check(
        (typ) => isOfType(typ, ['dpop+jwt']),
        'The typ in the header of the proof must be dpop+jwt.',
      ),
    ),
    alg: v.picklist(proofAlgorithms, 'The alg in the header of the proof must be ES256.'),
    jwk: v.object(
      {
        d: v.exactOptional(v.never(privateKeySent)),
        kty: v.literal('EC', aboutKey),
        crv: v.literal('P-256', aboutKey),
        x: v.string(aboutKey),
        y: v.string(aboutKey),
      },
      aboutKey,
    ),
    crit: v.exactOptional(v.never('The header of the proof must not have crit.')),
  },
  ({ path }) => `The header of the proof must have ${String(path?.[0]?.key)}.`,
);
type ProofKey = v.InferOutput<typeof headerSchema>['jwk'];

const secondsSchema = (name: string) =>
  v.number(`The claim ${name} of the proof must be a number, the seconds since 1970.`);
const idMessage = 'The claim jti of the proof must be a text, another one for each request.';
const notValidNow =
  'The proof is not valid now, by its exp or nbf. It needs neither of them: the service goes by iat and nonce.';

const claimsSchema = v.object(
  {
    jti: v.pipe(v.string(idMessage), v.nonEmpty(idMessage)),
    htm: v.string('The claim htm of the proof must be the method of the request.'),
    htu: v.string('The claim htu of the proof must be the address of the endpoint.'),
    iat: secondsSchema('iat'),
    nonce: v.exactOptional(v.string('The claim nonce of the proof must be a text.')),
    /** @see RFC 7519, sections 4.1.4 and 4.1.5, which allow for a leeway */
    exp: v.exactOptional(
      v.pipe(
        secondsSchema('exp'),
        v.check((end) => end > epochSeconds() - leeway, notValidNow),
      ),
    ),
    nbf: v.exactOptional(
      v.pipe(
        secondsSchema('nbf'),
        v.check((beginning) => beginning <= epochSeconds() + leeway, notValidNow),
      ),
    ),
  },
  ({ path }) => `The proof must have the claim ${String(path?.[0]?.key)}.`,
);

/** A request that a proof is for, by its method and path. */
export interface ProvenRequest {
  method: 'POST' | 'DELETE';
  path: string;
}

/**
 * The proof of possession of a key for a request. Nothing is written: `useProof` notes that
 * it was used.
 * @param sent the header `DPoP`
 * @param needsNonce whether it counts only with a nonce of the service, so that it can't have been
 *   made long before
 * @throws ServiceError `invalid_dpop_proof`; `use_dpop_nonce` with a nonce
 * @see RFC 9449, sections 4.3 and 8
 */
export async function verifyProof(
  sent: string | undefined,
  request: ProvenRequest,
  needsNonce: boolean,
): Promise<Proof> {
  if (sent === undefined)
    throw rejectedProof('Send a proof in the header DPoP: the client is public.', 'proof_missing');

  // 1. It is signed by the key in its header.
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(sent)) throw rejectedProof(malformed, 'proof_malformed');
  const { jwk } = checked(headerSchema, () => decodeProtectedHeader(sent), 'proof_malformed');
  requireSignature(sent, publicKeyOf(jwk));

  // 2. It is for this request.
  const claims = checked(claimsSchema, () => decodeJwt(sent), 'claim_invalid');
  requireRequest(claims, request);

  // 3. It has a nonce or, where it need not have one, is of this minute by the clock of the phone.
  const { jti, iat, nonce } = claims;
  const isByClock = nonce === undefined && !needsNonce;
  const end = isByClock ? endByClock(iat) : await endByNonce(nonce);
  if (end !== undefined) return { key: thumbprintOf(jwk), jti, end };
  const proofNonce = await newProofNonce();
  throw isByClock
    ? new ServiceError('use_dpop_nonce', outdated, { reason: 'proof_outdated', proofNonce })
    : new ServiceError('use_dpop_nonce', withoutNonce, {
        reason: 'proof_without_nonce',
        proofNonce,
      });
}

/** @throws ServiceError unless the claims name a request to the service */
function requireRequest(
  { htm, htu }: v.InferOutput<typeof claimsSchema>,
  { method, path }: ProvenRequest,
): void {
  if (htm !== method)
    throw rejectedProof(
      `The claim htm of the proof must be ${method}.`,
      'proof_for_another_request',
    );
  const address = `${issuer()}${path}`;
  if (withoutQuery(htu) === address) return;
  const message = `The claim htu of the proof must be ${address}.`;
  throw rejectedProof(message, 'proof_for_another_request');
}

const outdated =
  'The proof is not of this minute: make one with the nonce in the header DPoP-Nonce.';
const withoutNonce =
  'The proof has no nonce of the service, or one that has expired: make one with that in the header DPoP-Nonce.';

/**
 * Notes that the proof of a public client was used, before the request has an effect. Does nothing
 * for other clients.
 * @throws ServiceError `invalid_dpop_proof` when it was used before
 */
export async function useProof({ proof }: Pick<AuthenticatedClient, 'proof'>): Promise<void> {
  if (!proof) return;
  const isFirst = await useOnce(proof.end, 'proof', proof.key, proof.jti);
  if (!isFirst)
    throw rejectedProof('The proof has been used; make a new one for each request.', 'proof_used');
}

/**
 * The headers of an answer to a client: for a public one, the nonce of its next proof.
 * @see RFC 9449, section 8.2
 */
export const proofHeaders = async ({
  proof,
}: AuthenticatedClient): Promise<Record<string, string>> =>
  proof ? { 'dpop-nonce': await newProofNonce() } : {};

const newProofNonce = (): Promise<string> =>
  newNonce('proof', issuer(), accessTokenLifetime() + afterAccessToken);

const endByNonce = async (nonce: string | undefined): Promise<number | undefined> =>
  nonce === undefined ? undefined : endOfNonce('proof', issuer(), nonce);

const endByClock = (iat: number): number | undefined =>
  Math.abs(epochSeconds() - iat) <= leeway ? Math.floor(iat) + leeway + 1 : undefined;

/**
 * Decodes and checks a part of the proof.
 * @throws ServiceError that names the first problem
 */
function checked<Output>(
  schema: v.GenericSchema<unknown, Output>,
  decode: () => unknown,
  reason: LogReason,
): Output {
  let part: unknown;
  try {
    part = decode();
  } catch {
    throw rejectedProof(malformed, 'proof_malformed');
  }
  const result = v.safeParse(schema, part, { abortEarly: true });
  if (result.success) return result.output;
  throw rejectedProof(result.issues[0].message, reason);
}

function publicKeyOf(jwk: ProofKey): KeyObject {
  try {
    return createPublicKey({ format: 'jwk', key: jwk });
  } catch {
    // The point is not on the curve.
    throw rejectedProof(aboutKey, 'proof_malformed');
  }
}

/**
 * Verifies the signature, for half of what jose's WebCrypto costs.
 * @see RFC 7515, section 5.2; RFC 7518, section 3.4
 */
function requireSignature(proof: string, key: KeyObject): void {
  const end = proof.lastIndexOf('.');
  const text = Buffer.from(proof.slice(0, end));
  const signature = Buffer.from(proof.slice(end + 1), 'base64url');
  if (signature.length !== 64) throw rejectedProof(otherForm, 'proof_malformed');
  if (!verify('sha256', text, { key, dsaEncoding: 'ieee-p1363' }, signature))
    throw rejectedProof(
      'The signature of the proof is not by the key in its header.',
      'proof_malformed',
    );
}

const otherForm =
  'The signature of the proof must be the 64 bytes of r and s (RFC 7518, section 3.4), not another form such as DER.';

/**
 * An address without its query and fragment; undefined for a text that is no address.
 * @see RFC 9449, section 4.3
 */
function withoutQuery(address: string): string | undefined {
  const url = URL.parse(address);
  return url ? `${url.origin}${url.pathname}` : undefined;
}

/** @see RFC 7638, section 3.2 */
const thumbprintOf = ({ crv, kty, x, y }: ProofKey): string =>
  hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');

const rejectedProof = (description: string, reason: LogReason): ServiceError =>
  new ServiceError('invalid_dpop_proof', description, reason);
