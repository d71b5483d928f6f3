import type * as v from 'valibot';
import type { Identity } from '../login-users/identity.ts';
import type { ProviderId } from '../provider-settings/identifiers.ts';
import type { StoredSettings } from '../provider-settings/settings-encryption.ts';
import { oauth1 } from './oauth1/family.ts';
import { oauth2 } from './oauth2/family.ts';
import { oidc } from './oidc/family.ts';

/** The protocol family of each provider, fixed by the interface. A new family is a folder like these, a row and a case here. */
export const providers = {
  provider_a: oauth2,
  provider_b: oauth2,
  provider_c: oauth1,
  provider_d: oauth2,
  provider_e: oauth2,
  provider_f: oidc,
} as const satisfies Record<ProviderId, unknown>;

/** A credential of any provider, as a form has sent it. */
export type Credential = v.InferOutput<
  ReturnType<(typeof providers)[ProviderId]['identityOf' | 'credentialOf']>
>;

/** The person of a credential, by the stored settings of its provider. @throws ServiceError, ProviderFailure */
export function verifyCredential(stored: StoredSettings, credential: Credential): Promise<Identity> {
  switch (credential.family) {
    case 'oauth1':
      return oauth1.verify(stored, credential);
    case 'oauth2':
      return oauth2.verify(stored, credential);
    case 'oidc':
      return oidc.verify(stored, credential);
  }
}

export type FamilyName = (typeof providers)[ProviderId]['name'];
