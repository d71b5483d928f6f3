import { ServiceError } from '../foundation/service-error.ts';

/** Faults of a provider that gave no verdict, each with what an operator should know about it. */
const explanations = {
  unreachable: (address: string, detail: string) =>
    `There is no connection to ${address}${inBrackets(detail)}. Is the address right, and the provider up?`,
  timed_out: (address: string) => `${address} does not answer within 3 seconds.`,
  redirected: (address: string) =>
    `${address} redirects, which is not followed: set the address that it leads to, if that is the provider's.`,
  answer_too_large: (address: string) =>
    `${address} answers with more than 64 KiB: that is not what should be there. Is the address right?`,
  answer_not_json: (address: string) => `${address} does not answer in JSON. Is the address right?`,
  unexpected_status: (address: string, detail: string) =>
    `${address} answers with status ${detail}. Is the address right?`,
  unexpected_answer: (address: string, detail: string) =>
    `${address} does not answer as it should${inBrackets(detail)}.`,
  refused_our_credentials: (address: string, detail: string) =>
    `The provider rejects our own credentials at ${address}${inBrackets(detail)}. Are the app's id and secret right?`,
};

const inBrackets = (detail: string): string => detail && ` (${detail})`;

/**
 * The provider is down or slow, or its answer is unusable. The credential is neither accepted nor rejected, so the
 * request ends as an unknown error.
 */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  readonly code: keyof typeof explanations;
  /** The address that was called, without the query, which can hold a credential. */
  readonly address: string;
  readonly detail: string;

  constructor(fault: keyof typeof explanations, url: string, detail = '') {
    const { origin, pathname } = new URL(url);
    const address = `${origin}${pathname}`;
    super(`${fault}: ${address}${inBrackets(detail)}`);
    this.code = fault;
    this.address = address;
    this.detail = detail;
  }
}

/** A sentence for the operator about what a provider did instead of answering. */
export const explainFailure = ({ code, address, detail }: ProviderFailure): string =>
  explanations[code](address, detail);

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
