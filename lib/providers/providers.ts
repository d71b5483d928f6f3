// Identity providers: the protocols, the settings of each provider in a Login App, and the verification of a credential
// by them. Who the verified person is here is for `lib/people`. It calls the providers over HTTPS, and the storage.

import { oauth1 } from './oauth1/protocol.ts';
import { oauth2 } from './oauth2/protocol.ts';
import { oidc } from './oidc/protocol.ts';
import { type ProtocolName, type ProviderId, protocolNames } from './provider-ids.ts';

/** Every protocol by its name. A new one is a folder like these, and a row here and among the parameters. */
export const protocols = { oauth1, oauth2, oidc };

export const protocolOf = (provider: ProviderId): (typeof protocols)[ProtocolName] =>
  protocols[protocolNames[provider]];
