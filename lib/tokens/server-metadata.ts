import * as v from 'valibot';
import {
  assertionAlgorithms,
  authenticationMethods,
  proofAlgorithms,
  supportedGrantTypes,
} from '../login-apps/client-metadata.ts';
import { tokenAlgorithms } from '../signing/settings.ts';
import { introspectionPath, keysPath, revocationPath, tokenPath } from './issuer.ts';

/** The methods of endpoints for public clients, too. */
const methodsWithNone = [...authenticationMethods, 'none'];

const authenticationMethodsSchema = v.array(v.string());
const algorithmsSchema = v.exactOptional(v.array(v.string()));

/** @see RFC 8414 section 2 */
export const serverMetadataSchema = v.object({
  issuer: v.string(),
  token_endpoint: v.string(),
  token_endpoint_auth_methods_supported: authenticationMethodsSchema,
  token_endpoint_auth_signing_alg_values_supported: algorithmsSchema,
  revocation_endpoint: v.string(),
  revocation_endpoint_auth_methods_supported: authenticationMethodsSchema,
  revocation_endpoint_auth_signing_alg_values_supported: algorithmsSchema,
  introspection_endpoint: v.string(),
  introspection_endpoint_auth_methods_supported: authenticationMethodsSchema,
  introspection_endpoint_auth_signing_alg_values_supported: algorithmsSchema,
  dpop_signing_alg_values_supported: algorithmsSchema,
  jwks_uri: v.string(),
  grant_types_supported: v.array(v.picklist(supportedGrantTypes)),
  response_types_supported: v.array(v.string()),
});

/** @see OpenID Connect Discovery 1.0 section 3 */
export const openIdConfigurationSchema = v.object({
  ...serverMetadataSchema.entries,
  subject_types_supported: v.array(v.string()),
  id_token_signing_alg_values_supported: v.array(v.picklist(tokenAlgorithms)),
});

/**
 * Metadata for verifiers that look for an OpenID provider, such as API Gateway's. The service has
 * no authorization endpoint.
 */
export const openIdConfiguration = (
  issuer: string,
): v.InferOutput<typeof openIdConfigurationSchema> => ({
  ...serverMetadata(issuer),
  // A person's id differs from Login App to Login App.
  subject_types_supported: ['pairwise'],
  // The algorithms of access tokens: both, since a change leaves tokens of the other kind.
  id_token_signing_alg_values_supported: [...tokenAlgorithms],
});

export function serverMetadata(issuer: string): v.InferOutput<typeof serverMetadataSchema> {
  const at = (path: string) => `${issuer}${path}`;
  return {
    issuer,
    token_endpoint: at(tokenPath),
    token_endpoint_auth_methods_supported: methodsWithNone,
    token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    revocation_endpoint: at(revocationPath),
    revocation_endpoint_auth_methods_supported: methodsWithNone,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    introspection_endpoint: at(introspectionPath),
    introspection_endpoint_auth_methods_supported: [...authenticationMethods],
    introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    dpop_signing_alg_values_supported: proofAlgorithms,
    jwks_uri: at(keysPath),
    grant_types_supported: [...supportedGrantTypes],
    // There is no authorization endpoint: people authorize at their provider.
    response_types_supported: [],
  };
}
