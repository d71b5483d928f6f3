/** Fault of a provider that gave no verdict. */
export type ProviderFault =
  | 'unreachable'
  | 'timed_out'
  | 'redirected'
  | 'answer_too_large'
  | 'answer_not_json'
  | 'unexpected_status'
  | 'unexpected_answer'
  | 'refused_our_credentials';

/**
 * The provider is down or slow, or its answer is unusable. The credential is neither accepted nor rejected, so the
 * request ends as an unknown error. The message holds the address without its query, never a credential.
 */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  readonly code: ProviderFault;
  /** The address that was called, without the query, which can hold a credential. */
  readonly address: string;
  readonly detail: string;

  constructor(fault: ProviderFault, url: string, detail = '') {
    const { origin, pathname } = new URL(url);
    const address = `${origin}${pathname}`;
    super(`${fault}: ${address}${detail && ` (${detail})`}`);
    this.code = fault;
    this.address = address;
    this.detail = detail;
  }
}
