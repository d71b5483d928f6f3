// Identity providers: the protocols, the settings of each provider in a Login App, and the verification of a credential
// by them. Who the verified person is here is for `lib/people`. It calls the providers over HTTPS, and the storage.

import { oauth1 } from './oauth1/protocol.ts';
import { oauth2 } from './oauth2/protocol.ts';
import { oidc } from './oidc/protocol.ts';
import { type ProtocolName, type ProviderId, protocolNames } from './provider-ids.ts';

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
