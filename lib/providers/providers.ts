import type { ProviderId } from '../provider-settings/identifiers.ts';
import { oauth1 } from './oauth1/family.ts';
import { oauth2 } from './oauth2/family.ts';
import { oidc } from './oidc/family.ts';

/** The protocol family of each provider, fixed by the interface. A new family is a folder like these and a row here. */
export const providers = {
  provider_a: oauth2,
  provider_b: oauth2,
  provider_c: oauth1,
  provider_d: oauth2,
  provider_e: oauth2,
  provider_f: oidc,
} as const satisfies Record<ProviderId, unknown>;

export type FamilyName = (typeof providers)[ProviderId]['name'];
