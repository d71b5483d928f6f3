import * as v from 'valibot';
import { annotateLog } from '../log/request-fields.ts';
import type { VerifiedIdentity } from '../login-users/linked-identity.ts';
import { forbidden, parameters } from '../schema/form-parameters.ts';
import type { CheckResult } from './checks.ts';
import type { ProviderId } from './provider-ids.ts';
import {
  type BoundParameters,
  type CredentialCaller,
  checkNonce,
  requireOfPublicClient,
} from './service-nonce.ts';
import { decryptSecrets, type StoredSettings } from './settings/encryption.ts';
import { findProviderSettings, notSetUp } from './settings/stored.ts';

/** Settings as an operator gives them: all of a provider, or those of a preset. */
export interface SettingsInput {
  settings: unknown;
  isPreset: boolean;
  /** Settings that the operator names beside a preset. Unlike the preset's own, they replace what is stored. */
  named?: { namespace?: string; jwks_uri?: string };
}

/** Settings to store, or every reason why they cannot be. */
export type MergeResult = { settings: object } | { problems: string[] };

/** A credential that a form has sent, with its verification by the stored settings of its provider. */
export interface Credential extends BoundParameters {
  provider: ProviderId;
  /**
   * The person of the credential; undefined where the provider is not set up for such ones.
   * @throws ServiceError when the provider does not accept it
   * @throws ProviderFailure when the provider gives no verdict
   */
  verify: (stored: StoredSettings) => Promise<VerifiedIdentity | undefined>;
}

/** A protocol: its settings, what a login sends, and how a provider that speaks it vouches for a person. */
interface Definition<
  Name extends string,
  Settings extends v.GenericSchema<unknown, object>,
  Entries extends v.ObjectEntries,
> {
  name: Name;
  /** The name that people know: `OAuth 2.0`. */
  title: string;
  /** The schema of the settings. Fields named `…_secret` are stored encrypted. */
  settings: Settings;
  /**
   * Merges new settings of an operator, which have been checked, into the stored ones.
   * @param current what is stored
   */
  merge: (checked: v.InferOutput<Settings>, input: SettingsInput, current: object | undefined) => MergeResult;
  /** The parameters of a form with a credential, besides `provider`: required, optional and forbidden ones. */
  parameters: Entries;
  /** The person of a credential that was issued to one of our apps, as `Credential.verify` says. */
  verify: (
    settings: v.InferOutput<Settings>,
    form: v.InferOutput<v.ObjectSchema<Entries, undefined>>,
  ) => Promise<VerifiedIdentity | undefined>;
  /** Calls each endpoint of the settings with a credential that no provider has issued. */
  check: (settings: v.InferOutput<Settings>) => Promise<CheckResult>[];
}

const withoutCode = 'with provider credentials';

/** Makes a protocol of its definition, so that callers need not know the types of its settings and parameters. */
export function protocol<
  const Name extends string,
  Settings extends v.GenericSchema<unknown, object>,
  Entries extends v.ObjectEntries,
>({ parameters: entries, merge, verify, check, ...described }: Definition<Name, Settings, Entries>) {
  const { settings } = described;
  const ownEntries = v.object(entries);
  /** The settings of a stored record, decrypted and parsed once. @throws Error for settings that are not ours */
  const read = memoize(async (stored: StoredSettings) =>
    v.parse(settings, await decryptSecrets(stored.settings, stored.place)),
  );
  return {
    ...described,
    read,
    merge: (input: SettingsInput, current: object | undefined): MergeResult =>
      merge(v.parse(settings, input.settings), input, current),
    /**
     * The schema of a form with a credential of a provider, which becomes a `Credential`.
     * @param before parameters of the caller's, which are named first where several are missing
     * @param after those that are named last
     */
    form: <const Before extends v.ObjectEntries, const After extends v.ObjectEntries>(
      provider: ProviderId,
      before: Before,
      after: After,
    ) =>
      v.pipe(
        parameters({
          ...before,
          provider: v.literal(provider),
          // Ignored, they would protect nothing, though the caller counts on them.
          code_verifier: forbidden('code_verifier', withoutCode),
          redirect_uri: forbidden('redirect_uri', withoutCode),
          ...entries,
          ...after,
        }),
        v.transform((form) => ({
          ...form,
          verify: async (stored: StoredSettings) => verify(await read(stored), v.parse(ownEntries, form)),
        })),
      ),
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

/**
 * Verifies a credential by the settings of its provider in a Login App.
 * @returns the person for whom the provider issued it
 * @throws ServiceError, ProviderFailure
 */
export async function verifyCredential(
  caller: CredentialCaller,
  credential: Credential,
): Promise<VerifiedIdentity> {
  const { provider } = credential;
  annotateLog({ provider });
  requireOfPublicClient(caller, credential);
  const useNonce = await checkNonce(caller, credential.nonce);
  const stored = await findProviderSettings(caller.loginAppId, provider);
  const identity = stored && (await credential.verify(stored));
  if (!identity) throw notSetUp(provider);
  await useNonce();
  return identity;
}
