/** What a provider did instead of answering. */
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
 * The provider is down, slow or talks nonsense: no verdict on the credential, so nobody is let in and the
 * request ends as an unknown error. The message holds the address without its query, never a credential.
 */
export class ProviderFailure extends Error {
  override readonly name = 'ProviderFailure';
  readonly code: ProviderFault;

  constructor(fault: ProviderFault, url: string, detail = '', options?: ErrorOptions) {
    const { origin, pathname } = new URL(url);
    super(`${fault}: ${origin}${pathname}${detail && ` (${detail})`}`, options);
    this.code = fault;
  }
}
