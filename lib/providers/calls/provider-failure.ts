import { ServiceError } from '../../foundation/service-error.ts';

/** Faults of a provider that gave no verdict, with the sentence for the operator. */
const explanations = {
  unreachable: (address, detail) =>
    `There is no connection to ${address}${inBrackets(detail)}. Is the address right, and the provider up?`,
  timed_out: (address) => `${address} does not answer within 3 seconds.`,
  redirected: (address) =>
    `${address} redirects, which is not followed: set the address that it leads to, if that is the provider's.`,
  answer_too_large: (address) =>
    `${address} answers with more than 64 KiB: that is not what should be there. Is the address right?`,
  answer_not_decompressed: (address) =>
    `${address} compresses its answer, though it was asked not to, by no way that can be read: gzip, br, deflate or zstd.`,
  answer_not_json: (address, detail) =>
    `${address} does not answer in JSON${inBrackets(detail)}. Is the address right?`,
  answer_not_utf8: (address) =>
    `${address} answers in bytes that are not UTF-8, as JSON must be: several people could be one. Ask the provider for UTF-8.`,
  throttled: (address) => `${address} takes no more requests of our app now (429).`,
  unexpected_status: (address, detail) =>
    `${address} answers with status ${detail}. Is the address right?`,
  unexpected_answer: (address, detail) =>
    `${address} does not answer as it should${inBrackets(detail)}.`,
  refused_our_credentials: (address, detail) =>
    `The provider rejects our own credentials at ${address}${inBrackets(detail)}. Are the app's id and secret right?`,
  refused_our_app: (address, detail) =>
    `The provider rejects our app at ${address}${inBrackets(detail)}, whoever the person is. Look at the app's settings at the provider.`,
} satisfies Record<string, (address: string, detail: string) => string>;

const inBrackets = (detail: string): string => detail && ` (${detail})`;

/**
 * The provider is down or slow, or its answer is unusable. The request ends as an unknown error,
 * but for `withoutVerdict`.
 */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  readonly code: keyof typeof explanations;
  /** The address without its query, which can hold a credential. */
  readonly address: string;
  readonly detail: string;
  /** The status with which the provider answered a credential, if it answered. */
  readonly status: number | undefined;

  constructor(fault: keyof typeof explanations, url: string, detail = '', status?: number) {
    const { origin, pathname } = new URL(url);
    const address = `${origin}${pathname}`;
    super(`${fault}: ${address}${inBrackets(detail)}`);
    this.code = fault;
    this.address = address;
    this.detail = detail;
    this.status = status;
  }
}

export const explainFailure = ({ code, address, detail }: ProviderFailure): string =>
  explanations[code](address, detail);

/** The outcome of a call that checks settings, with a sentence for the operator. */
export interface CheckResult {
  check: string;
  ok: boolean;
  detail: string;
}

/** A credential that no provider has issued. */
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
    const outcome = await present().catch((error: unknown) => error);
    if (outcome instanceof ServiceError) return { ok: true, detail: passed };
    if (outcome instanceof Error) throw outcome;
    const detail =
      'The provider accepts a made-up credential: this address does not verify anything.';
    return { ok: false, detail };
  });
