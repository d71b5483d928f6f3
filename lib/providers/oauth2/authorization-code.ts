import * as v from 'valibot';
import { ServiceError } from '../../foundation/service-error.ts';
import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import { parameters } from '../../schema/form-parameters.ts';
import { verificationDeadline } from '../call-provider.ts';
import { verifyCode } from '../oidc/code-exchange.ts';
import { requireNonce } from '../oidc/nonce.ts';
import { codeParameters } from '../parameters.ts';
import type { StoredSettings } from '../settings/encryption.ts';
import { oauth2 } from './protocol.ts';
import type { CodeExchange, OAuth2Settings } from './settings.ts';
import { type AuthorizationCode, exchangeCode } from './token-endpoint.ts';
import { verifyAccessToken, verifyOwnToken } from './verify.ts';

const ownEntries = v.object(codeParameters);

/**
 * The schema of a form with an authorization code of a provider, which becomes a `Credential`.
 * @param before parameters of the caller's, which are named first where several are missing
 * @param after those that are named last
 */
export const codeForm = <const Before extends v.ObjectEntries, const After extends v.ObjectEntries>(
  before: Before,
  after: After,
) =>
  v.pipe(
    parameters({ ...before, ...codeParameters, ...after }),
    v.transform((form) => ({
      ...form,
      verify: async (stored: StoredSettings) =>
        verifyAuthorizationCode(await oauth2.read(stored), v.parse(ownEntries, form)),
    })),
  );

type CodeCredential = AuthorizationCode & { nonce?: string | undefined };

/**
 * The person of an authorization code, which is exchanged at the provider; undefined when the settings do not say how.
 * @throws ServiceError, ProviderFailure
 */
async function verifyAuthorizationCode(
  settings: OAuth2Settings,
  credential: CodeCredential,
): Promise<VerifiedIdentity | undefined> {
  const { authorization_code: exchange, audience_validation } = settings;
  if (!exchange) return undefined;
  if (exchange.id_token) {
    requireNonce(exchange.id_token, credential.nonce);
    const { person, refresh_token } = await verifyCode(exchange, exchange.id_token, credential);
    return { ...person, revocableToken: revocable(exchange, refresh_token) };
  }
  const { nonce, ...code } = credential;
  if (nonce !== undefined)
    throw new ServiceError(
      'invalid_request',
      'The parameter nonce must not be supplied, since the settings of this provider use no id token.',
    );
  const signal = verificationDeadline();
  const { access_token = '', refresh_token } = await exchangeCode(exchange, code, signal);
  const verify = audience_validation ? verifyAccessToken : verifyOwnToken;
  const person = await verify(settings, access_token, signal);
  return person && { ...person, revocableToken: revocable(exchange, refresh_token) };
}

/** The provider's refresh token, if the settings say where it can be revoked. */
const revocable = ({ revocation_url }: CodeExchange, token: string | undefined) =>
  revocation_url === undefined || token === undefined ? undefined : { text: token };
