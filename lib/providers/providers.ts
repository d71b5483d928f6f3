// Identity providers: the protocols, the settings of each provider in a Login App, and the verification of a credential
// by them. Who the verified person is here is for `lib/people`. It calls the providers over HTTPS, and the storage.

import { annotateLog } from '../log/request-fields.ts';
import { oauth1 } from './oauth1/protocol.ts';
import { oauth2, verifyAuthorizationCode } from './oauth2/protocol.ts';
import { oidc } from './oidc/protocol.ts';
import { type ProtocolName, type ProviderId, protocolNames } from './provider-ids.ts';
import {
  type Credential,
  type CredentialCaller,
  checkNonce,
  requireOfPublicClient,
} from './service-nonce.ts';
import { findProviderSettings, notSetUp } from './settings/stored.ts';

/** Every protocol by its name. A new one is a folder like these, and a row here and among the parameters. */
const protocols: Protocols = { oauth1, oauth2, oidc };

/** By name, since the declarations of the package can't hold a type this long. */
interface Protocols {
  oauth1: typeof oauth1;
  oauth2: typeof oauth2;
  oidc: typeof oidc;
}

export const protocolOf = (provider: ProviderId): Protocols[ProtocolName] =>
  protocols[protocolNames[provider]];

/** The person for whom a provider of the Login App issued a credential. @throws ServiceError, ProviderFailure */
export async function verifyCredential(caller: CredentialCaller, credential: Credential) {
  const { provider, id_token, authorization_code } = credential;
  annotateLog({ provider });
  requireOfPublicClient(caller, credential);
  const useNonce = await checkNonce(caller, credential.nonce);
  const stored = await findProviderSettings(caller.loginAppId, provider);
  if (!stored) throw notSetUp(provider);
  const identity = await (id_token === undefined && authorization_code !== undefined
    ? verifyAuthorizationCode(stored, { ...credential, authorization_code })
    : protocolOf(provider).verify(stored, credential));
  if (!identity) throw notSetUp(provider);
  await useNonce(identity);
  return identity;
}
