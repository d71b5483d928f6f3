import { decodeJwt, errors, type JWTVerifyGetKey, type JWTVerifyOptions, jwtVerify } from 'jose';
import { clock, epochSeconds } from '../foundation/clock.ts';
import { isId } from '../foundation/ids.ts';
import { isOfType } from '../foundation/media-type.ts';
import type { LogReason } from '../foundation/reasons.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { annotateLog } from '../log/request-fields.ts';
import { algorithmsOf } from '../login-apps/client-keys.ts';
import { assertionAlgorithms } from '../login-apps/client-metadata.ts';
import { authenticateClientBy, type StoredKey } from '../login-apps/clients.ts';
import { verifyByIssuer } from '../providers/jwt/issuer-keys.ts';
import { useOnce } from '../storage/use-once.ts';
import { issuer } from './issuer.ts';

/** Seconds by which the clocks may differ. */
const leeway = 30;

/**
 * The `typ` of assertions; many issuers set none, or that of any JWT.
 * @see RFC 10070
 */
const types = ['jwt', 'client-authentication+jwt'];

/**
 * The client of an assertion: a JWT by one of its own keys, or a token of the issuer of its
 * workload identity.
 * @param clientId the `client_id` of the request, without which the `sub` is the client
 * @throws ServiceError `invalid_client`, ProviderFailure
 * @see RFC 7521, section 4.2; RFC 7523, section 3; RFC 10070
 */
export async function verifyClientAssertion(assertion: string, clientId: string | undefined) {
  try {
    const claimed = decodeJwt(assertion);
    // No claim is checked yet, not even its type.
    const id = clientId ?? (typeof claimed.sub === 'string' ? claimed.sub : '');
    if (isId('la_….c_…', id)) annotateLog({ client_id: id });
    const client = await authenticateClientBy(id, async ({ keys = [], workload_identity }) => {
      if (claimed.iss === id) return verifyOwn(id, keys, assertion);
      if (!workload_identity || claimed.iss !== workload_identity.issuer) return false;
      return verifyForeign(workload_identity, assertion);
    });
    if (!client) throw rejectedAssertion('assertion_not_of_client');
    annotateLog({ login_app_id: client.loginAppId });
    return client;
  } catch (error) {
    throw error instanceof errors.JOSEError ? rejectedAssertion(assertionReason(error)) : error;
  }
}

/**
 * Verifies an assertion, which counts once.
 * @returns whether one of the client's own keys has signed it
 */
async function verifyOwn(id: string, keys: StoredKey[], assertion: string): Promise<boolean> {
  const rules = { issuer: id, subject: id, requiredClaims: ['exp', 'jti'] };
  for (const { jwk, thumbprint } of keys) {
    try {
      const own = { ...rules, algorithms: algorithmsOf(jwk) };
      const { jti, exp = 0 } = await verified(assertion, async () => jwk, 600, own);
      if (typeof jti !== 'string' || jti === '') throw rejectedAssertion('claim_invalid');
      if (!(await useOnce(Math.ceil(exp) + leeway, 'assertion', id, jti)))
        throw rejectedAssertion('assertion_used');
      annotateLog({ key_thumbprint: thumbprint });
      return true;
    } catch (error) {
      const isByAnother =
        error instanceof errors.JWSSignatureVerificationFailed ||
        error instanceof errors.JOSEAlgNotAllowed;
      if (!isByAnother) throw error;
    }
  }
  return false;
}

async function verifyForeign(
  trusted: { issuer: string; subject: string },
  token: string,
): Promise<boolean> {
  const rules = { ...trusted, requiredClaims: ['exp'], algorithms: assertionAlgorithms };
  await verifyByIssuer(trusted, (findKey) => verified(token, findKey, 3600, rules));
  return true;
}

/**
 * The claims of an assertion.
 * @param longest the most seconds until it expires
 */
async function verified(
  assertion: string,
  key: JWTVerifyGetKey,
  longest: number,
  rules: JWTVerifyOptions,
) {
  const options = { ...rules, clockTolerance: leeway, currentDate: clock.now() };
  const { payload, protectedHeader } = await jwtVerify(assertion, key, options);
  const { typ = 'JWT' } = protectedHeader;
  const hasKey = ['jwk', 'x5c', 'jku', 'x5u'].some((name) => name in protectedHeader);
  if (hasKey || !isOfType(typ, types)) throw rejectedAssertion('assertion_malformed');
  const [audience, ...others] = [payload.aud].flat();
  // No endpoint's address: another server that the client trusts could pass such an assertion on to
  // here.
  if (audience !== issuer() || others.length > 0)
    throw rejectedAssertion('assertion_for_another_server');
  if ((payload.exp ?? 0) > epochSeconds() + longest + leeway)
    throw rejectedAssertion('assertion_valid_for_too_long');
  return payload;
}

/** The log's reason why an assertion is not accepted. */
function assertionReason(error: errors.JOSEError): LogReason {
  if (error instanceof errors.JWTExpired) return 'assertion_expired';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature_invalid';
  if (error.code.startsWith('ERR_JWKS')) return 'unknown_key';
  if (!(error instanceof errors.JWTClaimValidationFailed)) return 'assertion_malformed';
  return ['iss', 'sub'].includes(error.claim) ? 'assertion_not_of_client' : 'claim_invalid';
}

/** The rules of assertions, for a caller who has broken one. */
const rulesBroken: { [Reason in LogReason]?: string } = {
  assertion_malformed:
    'must be a signed JWT, of the typ JWT, client-authentication+jwt or none, without a key in its header',
  assertion_expired: 'has expired',
  assertion_valid_for_too_long:
    'must expire within ten minutes, or that of another issuer within an hour',
  assertion_for_another_server: 'must have the issuer of the server metadata as its only aud',
  assertion_used: 'must have a jti that was not used before',
  claim_invalid: 'must have exp, and jti unless another issuer made it; its nbf must be over',
};

const rejectedAssertion = (reason: LogReason): ServiceError => {
  const description = `The client assertion ${rulesBroken[reason] ?? 'is not one of this client'}.`;
  return new ServiceError('invalid_client', description, reason);
};
