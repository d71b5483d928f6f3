import * as v from 'valibot';
import type { VerifiedIdentity } from '../login-users/linked-identity.ts';
import { forbidden, parameters } from '../schema/form-parameters.ts';
import type { CheckResult } from './calls/provider-failure.ts';
import type { ProviderId } from './provider-ids.ts';
import type { ReceivedToken } from './received-token.ts';
import { decryptSecrets, type StoredSettings } from './settings/encryption.ts';
import type { MergeResult, SettingsInput } from './settings/input.ts';

/** The parsed parameters of a form. */
export type FormOf<Entries extends v.ObjectEntries> = v.InferOutput<
  v.ObjectSchema<Entries, undefined>
>;

const withoutCode = 'with provider credentials';

/**
 * Makes a protocol of its definition, so that callers need not know the types of its settings and
 * parameters.
 */
export function protocol<
  const Name extends string,
  Settings extends v.GenericSchema<unknown, object>,
  Entries extends v.ObjectEntries,
>({
  parameters: entries,
  merge,
  verify,
  check,
  ...described
}: {
  name: Name;
  title: string;
  /**
   * The schema of the settings, which docs/providers.md explains. Fields named `…_secret` are
   * stored encrypted.
   */
  settings: Settings;
  /** Merges checked settings of an operator into the `current` ones that are stored. */
  merge: (
    checked: v.InferOutput<Settings>,
    input: SettingsInput,
    current: object | undefined,
  ) => MergeResult;
  /**
   * The parameters of a form with a credential, besides `provider`: required, optional and
   * forbidden ones.
   */
  parameters: Entries;
  /**
   * The person of a credential, undefined without settings for it.
   * @param received gets the provider's refresh token, if a code comes with the credential
   * @throws ServiceError when it is rejected, ProviderFailure
   */
  verify: (
    settings: v.InferOutput<Settings>,
    form: FormOf<Entries>,
    received: ReceivedToken,
  ) => Promise<VerifiedIdentity | undefined>;
  /** Calls each endpoint of the settings with a made-up credential. */
  check: (settings: v.InferOutput<Settings>) => Promise<CheckResult>[];
}) {
  const { settings } = described;
  const readings = new WeakMap<object, Promise<v.InferOutput<Settings>>>();
  /**
   * The settings of a record, decrypted and parsed once for each.
   * @throws Error for settings that are not ours
   */
  const read = (stored: StoredSettings): Promise<v.InferOutput<Settings>> => {
    const known = readings.get(stored.settings);
    if (known) return known;
    const reading = decryptSecrets(stored.settings, stored.place).then((plain) =>
      v.parse(settings, plain),
    );
    readings.set(stored.settings, reading);
    // A failure is not remembered.
    reading.catch(() => readings.delete(stored.settings));
    return reading;
  };
  return {
    ...described,
    read,
    merge: (input: SettingsInput, current: object | undefined): MergeResult =>
      merge(v.parse(settings, input.settings), input, current),
    /**
     * The schema of a form with a credential. Where several parameters are missing, the error names
     * those of `before` first.
     */
    form: <const Before extends v.ObjectEntries, const After extends v.ObjectEntries>(
      provider: ProviderId,
      before: Before,
      after: After,
    ) =>
      parameters({
        ...before,
        provider: v.literal(provider),
        // An error, since the caller counts on what they protect.
        code_verifier: forbidden('code_verifier', withoutCode),
        redirect_uri: forbidden('redirect_uri', withoutCode),
        ...entries,
        ...after,
      }),
    verify: async (stored: StoredSettings, form: FormOf<Entries>, received: ReceivedToken) =>
      verify(await read(stored), form, received),
    check: async (stored: StoredSettings) => Promise.all(check(await read(stored))),
  };
}
