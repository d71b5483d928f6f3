import * as v from 'valibot';
import { forbidden, optional, required, type SortedParameters, sorted } from '../schema/form-parameters.ts';
import { type FamilyName, protocols } from './protocols.ts';
import type { ProviderId } from './provider-ids.ts';

const forOAuth1 = 'for the OAuth 1.0 provider';
const forOAuth2 = 'for an OAuth 2.0 provider';

/** The parameters of the grant `provider_credentials` besides `provider`, by family. */
export const credentialParameters = {
  oauth1: {
    access_token: required('access_token'),
    access_secret: required('access_secret'),
    id_token: forbidden('id_token', forOAuth1),
    nonce: forbidden('nonce', forOAuth1),
  },
  oauth2: {
    access_token: required('access_token'),
    access_secret: forbidden('access_secret', forOAuth2),
    id_token: forbidden('id_token', forOAuth2),
    nonce: forbidden('nonce', forOAuth2),
  },
  oidc: {
    id_token: required('id_token'),
    access_token: optional('access_token'),
    nonce: v.pipe(
      optional('nonce'),
      v.description('The nonce of the id token, which may have it literally or as its SHA-256.'),
    ),
    access_secret: forbidden('access_secret', 'for the OIDC provider'),
  },
} satisfies Record<FamilyName, v.ObjectEntries>;

/** The parameters of the grant `provider_credentials` for a provider, apart from `grant_type` and `provider`. */
export const parametersOf = (provider: ProviderId): SortedParameters =>
  sorted(credentialParameters[protocols[provider].name]);
