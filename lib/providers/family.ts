import * as v from 'valibot';
import type { VerifiedIdentity } from '../login-users/identity.ts';
import { forbidden, type Parameters, parameters } from '../schema/form-parameters.ts';
import type { CheckResult } from './checks.ts';
import type { ProviderId } from './provider-ids.ts';
import { decryptSecrets, type StoredSettings } from './settings/encryption.ts';

const withoutCode = 'with provider credentials';

/** The parameters of a form with a credential of any provider. */
const commonEntries = (provider: ProviderId) => ({
  provider: v.literal(provider),
  // Ignored, they would protect nothing, though the caller counts on them.
  code_verifier: forbidden('code_verifier', withoutCode),
  redirect_uri: forbidden('redirect_uri', withoutCode),
});
type CommonEntries = ReturnType<typeof commonEntries>;

/** A protocol family: what a login sends, and how a provider that speaks the protocol vouches for it. */
interface FamilyDefinition<
  Settings extends v.GenericSchema<unknown, object>,
  Entries extends v.ObjectEntries,
> {
  /** The parameters of the grant `provider_credentials` besides `provider`: required, optional and forbidden ones. */
  parameters: Entries;
  /**
   * The person of a credential that was issued to one of our apps.
   * @throws ServiceError when the provider does not accept the credential
   * @throws ProviderFailure when the provider gives no verdict
   */
  verify: (
    settings: v.InferOutput<Settings>,
    credential: v.InferOutput<Parameters<CommonEntries & Entries>>,
  ) => Promise<VerifiedIdentity>;
  /** Calls each endpoint of the settings with a made-up credential. */
  check: (settings: v.InferOutput<Settings>) => Promise<CheckResult>[];
}

/** Makes a family of its protocol and its definition, so that callers need not know the types of its settings and parameters. */
export function family<
  const Name extends string,
  Settings extends v.GenericSchema<unknown, object>,
  Entries extends v.ObjectEntries,
>(
  { name, settings }: { name: Name; settings: Settings },
  { parameters: entries, verify, check }: FamilyDefinition<Settings, Entries>,
) {
  const titleOf = (provider: ProviderId) => `Provider${provider.slice(-1).toUpperCase()}`;
  /** Names the family in a form that was read, so that its credential is verified by no other. */
  const named = <Form extends object>(form: Form) => ({ ...form, family: name });
  /** The settings of a stored record, decrypted and parsed once. @throws Error for settings that are not ours */
  const read = memoize(async (stored: StoredSettings) =>
    v.parse(settings, await decryptSecrets(stored.settings, stored.place)),
  );
  return {
    read,
    /** The schema of a token request with a credential of this family. */
    credentialOf: (provider: ProviderId) =>
      v.pipe(
        parameters({ grant_type: v.literal('provider_credentials'), ...commonEntries(provider), ...entries }),
        v.transform(named),
        v.title(`${titleOf(provider)}Credentials`),
      ),
    /** The schema of a form with a credential of this family that proves another identity of a person. */
    identityOf: (provider: ProviderId) =>
      v.pipe(
        parameters({
          ...commonEntries(provider),
          ...entries,
          authorization_code: forbidden('authorization_code', withoutCode),
        }),
        v.transform(named),
        v.title(`${titleOf(provider)}Identity`),
      ),
    /** The person of a credential, by the stored settings of its provider. @throws ServiceError, ProviderFailure */
    verify: async (
      stored: StoredSettings,
      credential: v.InferOutput<Parameters<CommonEntries & Entries>>,
    ): Promise<VerifiedIdentity> => verify(await read(stored), credential),
    check: async (stored: StoredSettings) => Promise.all(check(await read(stored))),
  };
}

/** Remembers what was made of a record, as long as the record itself is kept. A failure is not remembered. */
function memoize<Stored extends { settings: object }, Value>(
  make: (stored: Stored) => Promise<Value>,
): (stored: Stored) => Promise<Value> {
  const made = new WeakMap<object, Promise<Value>>();
  return (stored) => {
    const known = made.get(stored.settings);
    if (known) return known;
    const making = make(stored);
    made.set(stored.settings, making);
    making.catch(() => made.delete(stored.settings));
    return making;
  };
}
