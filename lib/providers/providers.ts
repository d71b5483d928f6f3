import { annotateLog } from '../log/request-fields.ts';
import type { VerifiedIdentity } from '../login-users/linked-identity.ts';
import { withoutVerdict } from './calls/without-verdict.ts';
import { oauth1 } from './oauth1/protocol.ts';
import { oauth2, verifyAuthorizationCode } from './oauth2/protocol.ts';
import { oidc } from './oidc/protocol.ts';
import type { codeParameters, credentialParameters } from './parameters.ts';
import type { FormOf } from './protocol.ts';
import { type ProtocolName, type ProviderId, protocolNames } from './provider-ids.ts';
import {
  type PublicCaller,
  requireAllowedProvider,
  requireNonceOfPublicClient,
} from './public-clients.ts';
import type { ReceivedToken } from './received-token.ts';
import { type CredentialCaller, checkNonce } from './service-nonce.ts';
import type { StoredSettings } from './settings/encryption.ts';
import { findProviderSettings, notSetUp } from './settings/stored.ts';

/**
 * Every protocol by its name. A new one is a folder like these, and a row here and among the
 * parameters.
 */
const protocols: Protocols = { oauth1, oauth2, oidc };

/** By name, since the declarations of the package can't hold a type this long. */
interface Protocols {
  oauth1: typeof oauth1;
  oauth2: typeof oauth2;
  oidc: typeof oidc;
}

export const protocolOf = (provider: ProviderId): Protocols[ProtocolName] =>
  protocols[protocolNames[provider]];

/** Parsed parameters by the protocol of the provider whose credential they have. */
type CredentialForms = {
  [Name in ProtocolName]: FormOf<(typeof credentialParameters)[Name]>;
};

/** Parsed parameters of provider credentials. */
export type CredentialForm = CredentialForms[ProtocolName] & { provider: ProviderId };

/** Parsed parameters of an authorization code. */
export type CodeForm = FormOf<typeof codeParameters>;

type Caller = CredentialCaller & PublicCaller;

/**
 * The person for whom a provider of the Login App issued a credential.
 * @param received gets the provider's refresh token, if a code comes with the credential
 * @throws ServiceError, ProviderFailure
 */
export async function verifyCredential(
  caller: Caller,
  form: CredentialForm,
  received: ReceivedToken,
): Promise<VerifiedIdentity> {
  annotateLog({ provider: form.provider });
  requireAllowedProvider(caller, form.provider);
  requireNonceOfPublicClient(caller, form);
  return verifyAtProvider(caller, form, (stored) =>
    verifyBy(protocolNames[form.provider], stored, form, received),
  );
}

/**
 * The person of an authorization code, which is exchanged at the provider.
 * @param received gets the provider's refresh token
 * @throws ServiceError, ProviderFailure
 */
export async function verifyCode(
  caller: Caller,
  form: CodeForm,
  received: ReceivedToken,
): Promise<VerifiedIdentity> {
  annotateLog({ provider: form.provider });
  requireAllowedProvider(caller, form.provider);
  const isOfPublicClient = caller.proofKey !== undefined;
  return verifyAtProvider(caller, form, (stored) =>
    verifyAuthorizationCode(stored, form, received, isOfPublicClient),
  );
}

type Verification = (stored: StoredSettings) => Promise<VerifiedIdentity | undefined>;

/**
 * Verifies by the settings of the Login App, with the nonce of the request if the service made it.
 * @param verify gives undefined without settings for what is presented
 */
async function verifyAtProvider(
  caller: Caller,
  { provider, nonce }: { provider: ProviderId; nonce?: string | undefined },
  verify: Verification,
): Promise<VerifiedIdentity> {
  const { loginAppId } = caller;

  // 1. The nonce is one that may be used.
  const useNonce = await checkNonce(caller, nonce);

  // 2. The provider, or a key of its issuer, tells who the person is.
  const stored = await findProviderSettings(loginAppId, provider);
  if (!stored) throw notSetUp(provider);
  const identity = await verify(stored).catch((error: unknown) => {
    throw withoutVerdict(error);
  });
  if (!identity) throw notSetUp(provider);

  // 3. The nonce counts for this person alone from now on.
  await useNonce(identity);
  return identity;
}

/** Verifies a form by the protocol that its parameters belong to. */
function verifyBy<Name extends ProtocolName>(
  name: Name,
  stored: StoredSettings,
  form: CredentialForms[Name],
  received: ReceivedToken,
): ReturnType<Verification> {
  const table: { [One in ProtocolName]: VerifierOf<One> } = protocols;
  return table[name].verify(stored, form, received);
}

interface VerifierOf<Name extends ProtocolName> {
  verify: (
    stored: StoredSettings,
    form: CredentialForms[Name],
    received: ReceivedToken,
  ) => ReturnType<Verification>;
}
