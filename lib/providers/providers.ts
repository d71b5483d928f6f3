// Identity providers: the protocols, the settings of each provider in a Login App, and the verification of a credential
// by them. Who the verified person is here is for `lib/people`. It calls the providers over HTTPS, and the storage.

import type * as v from 'valibot';
import type { VerifiedIdentity } from '../login-users/identity.ts';
import { oauth1 } from './oauth1/family.ts';
import { oauth2 } from './oauth2/family.ts';
import { oidc } from './oidc/family.ts';
import { type FamilyName, protocols } from './protocols.ts';
import type { ProviderId } from './provider-ids.ts';
import type { StoredSettings } from './settings/encryption.ts';

/** The families of the protocols. A new one is a folder like these, a row and a case here. */
const families = { oauth1, oauth2, oidc };

export const familyOf = (provider: ProviderId) => families[protocols[provider].name];

/** A credential of any provider, as a form has sent it. */
export type Credential = v.InferOutput<
  ReturnType<(typeof families)[FamilyName]['identityOf' | 'credentialOf']>
>;

/** The person of a credential, by the stored settings of its provider. @throws ServiceError, ProviderFailure */
export function verifyCredential(stored: StoredSettings, credential: Credential): Promise<VerifiedIdentity> {
  switch (credential.family) {
    case 'oauth1':
      return oauth1.verify(stored, credential);
    case 'oauth2':
      return oauth2.verify(stored, credential);
    case 'oidc':
      return oidc.verify(stored, credential);
  }
}
