import { ServiceError } from '../foundation/service-error.ts';
import { explainFailure, ProviderFailure } from './provider-failure.ts';

/** Outcome of one call to the provider, with a sentence for the person who set it up. */
export interface CheckResult {
  check: string;
  ok: boolean;
  detail: string;
}

/** A credential that no provider has issued. How the provider answers it shows whether our settings are right. */
export const dummy = 'made-up-to-check-the-settings';

export async function check(name: string, call: () => Promise<Omit<CheckResult, 'check'>>) {
  try {
    return { check: name, ...(await call()) };
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return { check: name, ok: false, detail: explainFailure(error) };
  }
}

/** Passes when the provider rejects a made-up credential. */
export const rejectsDummy = (
  name: string,
  present: () => Promise<unknown>,
  passed = 'The provider answers, and rejects a made-up credential.',
): Promise<CheckResult> =>
  check(name, async () => {
    try {
      await present();
    } catch (error) {
      if (error instanceof ServiceError) return { ok: true, detail: passed };
      throw error;
    }
    return {
      ok: false,
      detail: 'The provider accepts a made-up credential: this address does not verify anything.',
    };
  });
