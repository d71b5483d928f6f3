import * as v from 'valibot';
import { ServiceError } from '../../foundation/service-error.ts';
import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import { parameters } from '../../schema/form-parameters.ts';
import { verificationDeadline } from '../call-provider.ts';
import { prepareIssuerKeys } from '../oidc/issuer-keys.ts';
import { requireNonce } from '../oidc/nonce.ts';
import { verifyIdToken } from '../oidc/verify.ts';
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
  if (exchange.id_token) return verifyByIdToken(exchange, exchange.id_token, credential);
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

/**
 * Finds the person by the id token in the provider's answer, so that no further call is needed. The issuer's keys are fetched
 * meanwhile, if they are not known.
 * @see OpenID Connect Core 1.0, section 3.1.3
 */
async function verifyByIdToken(
  exchange: CodeExchange,
  issuer: NonNullable<CodeExchange['id_token']>,
  { nonce, ...code }: CodeCredential,
): Promise<VerifiedIdentity> {
  requireNonce(issuer, nonce);
  const keys = prepareIssuerKeys(issuer);
  // The verdict on the code comes first, so a failure waits until then.
  keys.catch(() => undefined);
  const tokens = await exchangeCode(exchange, code, verificationDeadline());
  const { id_token = '', access_token, refresh_token } = tokens;
  await keys;
  const trusted = [{ ...issuer, audiences: [exchange.client_id] }];
  const person = await verifyIdToken(trusted, { id_token, access_token, nonce });
  return { ...person, revocableToken: revocable(exchange, refresh_token) };
}

/** The provider's refresh token, if the settings say where it can be revoked. */
const revocable = ({ revocation_url }: CodeExchange, token: string | undefined) =>
  revocation_url === undefined ? undefined : token;
