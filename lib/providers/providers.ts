import { annotateLog } from '../log/request-fields.ts';
import { withoutVerdict } from './calls/without-verdict.ts';
import type { AuthorizationCode } from './codes/token-endpoint.ts';
import { oauth1 } from './oauth1/protocol.ts';
import { oauth2, verifyAuthorizationCode } from './oauth2/protocol.ts';
import { oidc } from './oidc/protocol.ts';
import { type ProtocolName, type ProviderId, protocolNames } from './provider-ids.ts';
import { revokedOnFailure } from './provider-token.ts';
import {
  type PublicCaller,
  requireAllowedProvider,
  requireNonceOfPublicClient,
} from './public-clients.ts';
import { type CredentialCaller, checkNonce } from './service-nonce.ts';
import type { StoredSettings } from './settings/encryption.ts';
import { findProviderSettings, notSetUp } from './settings/stored.ts';

/**
 * Every protocol by its name. A new one is a folder like these, and a row here and among the
 * parameters.
 */
const protocols: Protocols = { oauth1, oauth2, oidc };

/** By name, since the declarations of the package can't hold a type this long. */
interface Protocols {
  oauth1: typeof oauth1;
  oauth2: typeof oauth2;
  oidc: typeof oidc;
}

export const protocolOf = (provider: ProviderId): Protocols[ProtocolName] =>
  protocols[protocolNames[provider]];

/** A credential in a form, with the parameters that bind it to one request. */
export interface Credential
  extends Partial<Record<keyof AuthorizationCode | 'id_token', string | undefined>> {
  provider: ProviderId;
}

/**
 * The person for whom a provider of the Login App issued a credential.
 * @throws ServiceError, ProviderFailure
 */
export async function verifyCredential(
  caller: CredentialCaller & PublicCaller,
  credential: Credential,
) {
  const { provider } = credential;
  annotateLog({ provider });
  requireAllowedProvider(caller, provider);
  requireNonceOfPublicClient(caller, credential);
  const useNonce = await checkNonce(caller, credential.nonce);
  const stored = await findProviderSettings(caller.loginAppId, provider);
  if (!stored) throw notSetUp(provider);
  const identity = await verifyAtProvider(caller, stored, credential).catch((error: unknown) => {
    throw withoutVerdict(error);
  });
  if (!identity) throw notSetUp(provider);
  await revokedOnFailure({ loginAppId: caller.loginAppId, provider }, identity, () =>
    useNonce(identity),
  );
  return identity;
}

/**
 * The person of a code, or else of the credential itself; undefined without settings for it.
 * @throws ServiceError, ProviderFailure
 */
async function verifyAtProvider(
  { proofKey }: PublicCaller,
  stored: StoredSettings,
  credential: Credential,
) {
  const { provider, id_token, authorization_code } = credential;
  if (id_token !== undefined || authorization_code === undefined)
    return protocolOf(provider).verify(stored, credential);
  const code = { ...credential, authorization_code, isOfPublicClient: proofKey !== undefined };
  return verifyAuthorizationCode(stored, code);
}
