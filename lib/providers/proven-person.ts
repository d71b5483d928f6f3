import type * as v from 'valibot';
import type { VerifiedIdentity } from '../login-users/identity.ts';
import type { Parameters } from '../schema/form-parameters.ts';
import type { codeParameters } from './code-parameters.ts';
import { notSetUp } from './not-set-up.ts';
import { oauth2 } from './oauth2/family.ts';
import { verifyAuthorizationCode } from './oauth2/verify-authorization-code.ts';
import { type Credential, verifyCredential } from './providers.ts';
import { findProviderSettings } from './settings/stored.ts';

/** The person for whom a credential of a provider was issued. @throws ServiceError, ProviderFailure */
export async function personOfCredential(loginAppId: string, credential: Credential) {
  const stored = await findProviderSettings(loginAppId, credential.provider);
  if (!stored) throw notSetUp(credential.provider);
  return verifyCredential(stored, credential);
}

/** The person for whom an authorization code of a provider was issued. @throws ServiceError, ProviderFailure */
export async function personOfCode(
  loginAppId: string,
  { provider, ...code }: v.InferOutput<Parameters<typeof codeParameters>>,
): Promise<VerifiedIdentity> {
  const stored = await findProviderSettings(loginAppId, provider);
  const settings = stored && (await oauth2.read(stored));
  const person = settings && (await verifyAuthorizationCode(settings, code));
  if (!person) throw notSetUp(provider);
  return person;
}
