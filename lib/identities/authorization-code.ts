import type * as v from 'valibot';
import type { ProvenIdentity } from '../login-users/identity.ts';
import { notSetUp } from '../provider-settings/not-set-up.ts';
import { findProviderSettings } from '../provider-settings/stored-settings.ts';
import { oauth2 } from '../providers/oauth2/family.ts';
import { verifyAuthorizationCode } from '../providers/oauth2/verify-authorization-code.ts';
import type { Parameters } from '../schema/form-parameters.ts';
import type { codeParameters } from './code-parameters.ts';

/** An authorization code of a provider, as a form has sent it. */
export type AuthorizationCode = v.InferOutput<Parameters<typeof codeParameters>>;

/** The person for whom an authorization code of a provider was issued. @throws ServiceError, ProviderFailure */
export async function personOfCode(
  loginAppId: string,
  { provider, ...code }: AuthorizationCode,
): Promise<ProvenIdentity> {
  const stored = await findProviderSettings(loginAppId, provider);
  const settings = stored && (await oauth2.read(stored));
  const person = settings && (await verifyAuthorizationCode(settings, code));
  if (!person) throw notSetUp(provider);
  return person;
}
