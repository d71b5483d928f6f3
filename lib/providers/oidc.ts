import { createHash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { clock, epochSeconds } from '../clock.ts';
import { equalInConstantTime } from '../secrets.ts';
import { issuerKey } from './issuer-keys.ts';
import { plausible, rejected } from './rejected.ts';
import type { OidcSettings } from './settings.ts';
import { subjectAt } from './subject.ts';

/** Signatures that count: asymmetric ones alone, so that no public key can serve as a shared secret. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Seconds by which the clocks may differ. */
const leeway = 60;

/** An id token, and the access token that came with it where there was one. */
export interface OidcCredential {
  idToken: string;
  accessToken?: string | undefined;
}

/**
 * Whom an id token that was issued to one of our apps tells of.
 * @throws Refusal, ProviderFailure
 * @see OpenID Connect Core 1.0, section 3.1.3.7
 */
export async function verifyOidc(
  settings: OidcSettings,
  { idToken, accessToken }: OidcCredential,
): Promise<string> {
  const { payload, alg } = await verifiedIdToken(settings, plausible(idToken));
  refuseForeign(payload, settings.audiences);
  if ((payload.iat ?? Infinity) > epochSeconds() + leeway) throw rejected('issued_in_the_future');
  if (accessToken !== undefined) refuseOtherAccessToken(payload, plausible(accessToken), alg);
  const subject = subjectAt(payload, 'sub');
  if (!subject) throw rejected('no_usable_subject');
  return subject;
}

async function verifiedIdToken(
  { issuer, audiences }: OidcSettings,
  idToken: string,
): Promise<{ payload: JWTPayload; alg: string }> {
  try {
    const { payload, protectedHeader } = await jwtVerify(idToken, (header) => issuerKey(issuer, header), {
      algorithms,
      issuer,
      audience: audiences,
      clockTolerance: leeway,
      requiredClaims: ['exp', 'iat', 'sub'],
      currentDate: clock.now(),
    });
    if (!/^(jwt)?$/i.test(protectedHeader.typ ?? '')) throw rejected('not_an_id_token');
    return { payload, alg: protectedHeader.alg };
  } catch (error) {
    throw error instanceof errors.JOSEError ? rejected(error.code.toLowerCase()) : error;
  }
}

/** A token for several audiences, or from an authorised party, must name one of our apps as that party. */
function refuseForeign({ aud, azp }: JWTPayload, audiences: string[]): void {
  const isAmbiguous = azp === undefined && Array.isArray(aud) && aud.length > 1;
  const isForeign = azp !== undefined && !(typeof azp === 'string' && audiences.includes(azp));
  if (isAmbiguous || isForeign) throw rejected('issued_to_another_app');
}

/** An id token that vouches for an access token must vouch for the one that came. @see OpenID Connect Core 1.0, section 3.1.3.8 */
function refuseOtherAccessToken({ at_hash }: JWTPayload, accessToken: string, alg: string): void {
  if (at_hash === undefined) return;
  const hash = createHash(alg.startsWith('Ed') ? 'sha512' : `sha${alg.slice(-3)}`)
    .update(accessToken)
    .digest();
  const expected = hash.subarray(0, hash.length / 2).toString('base64url');
  if (typeof at_hash !== 'string' || !equalInConstantTime(at_hash, expected))
    throw rejected('other_access_token');
}
