import { definedOnly } from '../../foundation/defined-only.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { logFailure } from '../../log/log.ts';
import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import { verificationDeadline } from '../call-provider.ts';
import { rejected } from '../credential.ts';
import type { CodeExchange } from '../oauth2/settings.ts';
import { type AuthorizationCode, exchangeCode } from '../oauth2/token-endpoint.ts';
import { ProviderFailure } from '../provider-failure.ts';
import type { TrustedIssuer } from './issuer.ts';
import { prepareIssuerKeys } from './issuer-keys.ts';
import type { Issuer } from './settings.ts';
import { verifyIdToken } from './verify.ts';

/**
 * The person of an authorization code, by the id token in the provider's answer, and the refresh token in it. The
 * issuer's keys are fetched meanwhile, if they are not known.
 * @throws ServiceError, ProviderFailure
 * @see OpenID Connect Core 1.0, section 3.1.3
 */
export async function verifyCode(
  exchange: CodeExchange,
  issuer: Omit<TrustedIssuer, 'audiences'>,
  { nonce, ...code }: AuthorizationCode & { nonce?: string | undefined },
  signal = verificationDeadline(),
): Promise<{ person: VerifiedIdentity; refresh_token: string | undefined }> {
  const keys = prepareIssuerKeys(issuer);
  // The verdict on the code comes first, so a failure waits until then.
  keys.catch(() => undefined);
  const { id_token, access_token, refresh_token } = await exchangeCode(
    { ...exchange, id_token: issuer },
    code,
    signal,
  );
  await keys;
  const trusted = [{ ...issuer, audiences: [exchange.client_id] }];
  const person = await verifyIdToken(trusted, { id_token: id_token ?? '', access_token, nonce });
  return { person, refresh_token };
}

/**
 * An identity that its id token has proven, with the refresh token of the code that came along. The code decides nothing:
 * if it gives no token of the same person, the log says why, and the identity is as it would be without it.
 * @throws ServiceError `invalid_request` for a redirect URI that is not in the settings
 */
export async function withRevocableToken(
  identity: VerifiedIdentity,
  issuer: Issuer,
  exchange: NonNullable<Issuer['code_exchange']>,
  code: AuthorizationCode,
  signal: AbortSignal,
): Promise<VerifiedIdentity> {
  try {
    // The nonce has been checked in the id token of the login.
    const { person, refresh_token } = await verifyCode(
      exchange,
      { ...issuer, nonce: 'optional' },
      code,
      signal,
    );
    // Somebody else's token is forgotten: to revoke it would log them out.
    if (person.subject !== identity.subject) throw rejected('subject_mismatch');
    if (refresh_token === undefined)
      throw new ProviderFailure('unexpected_answer', exchange.token_url, 'no refresh token');
    const revocableToken = { text: refresh_token, issuer: issuer.issuer };
    return { ...identity, revocableToken, code: 'exchanged' };
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid_request') throw error;
    const reason = error instanceof ServiceError ? error.reason : undefined;
    logFailure('code_not_exchanged', error, definedOnly({ issuer: issuer.issuer, reason }));
    return { ...identity, code: 'not_exchanged' };
  }
}
