import { ServiceError } from '../foundation/service-error.ts';
import { ProviderFailure, type ProviderFault } from './provider-failure.ts';

/** Outcome of one call to the provider. */
export interface CheckResult {
  check: string;
  ok: boolean;
  /** A sentence for the person who set it up. */
  detail: string;
}

/** A credential that no provider has issued. How the provider answers it shows whether our settings are right. */
export const dummy = 'made-up-to-check-the-settings';

/** A check by one call; a provider that fails is explained. */
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

const explanations: Record<ProviderFault, (address: string, detail: string) => string> = {
  unreachable: (address, detail) =>
    `There is no connection to ${address}${inBrackets(detail)}. Is the address right, and the provider up?`,
  timed_out: (address) => `${address} does not answer within 3 seconds.`,
  redirected: (address) =>
    `${address} redirects, which is not followed: set the address that it leads to, if that is the provider's.`,
  answer_too_large: (address) =>
    `${address} answers with more than 64 KiB: that is not what should be there. Is the address right?`,
  answer_not_json: (address) => `${address} does not answer in JSON. Is the address right?`,
  unexpected_status: (address, detail) => `${address} answers with status ${detail}. Is the address right?`,
  unexpected_answer: (address, detail) => `${address} does not answer as it should${inBrackets(detail)}.`,
  refused_our_credentials: (address, detail) =>
    `The provider rejects our own credentials at ${address}${inBrackets(detail)}. Are the app's id and secret right?`,
};

const inBrackets = (detail: string): string => (detail === '' ? '' : ` (${detail})`);

/** A sentence for the operator about what a provider did instead of answering. */
export const explainFailure = ({ code, address, detail }: ProviderFailure): string =>
  explanations[code](address, detail);
