import type { ProviderFailure, ProviderFault } from './provider-failure.ts';

/** Advice to the operator, by the provider's fault. */
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
