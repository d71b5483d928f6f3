import type { ProviderToken } from '../login-users/linked-identity.ts';

/**
 * The place for the refresh token that a provider gives for a code. The exchange puts it there, when
 * nobody knows yet whose it is; whoever began the login or the link stores it or revokes it.
 */
export interface ReceivedToken {
  /** The issuer whose settings exchange the code; absent where the provider has only one. */
  issuer?: string;
  /** Absent until a code is exchanged for one that is to be stored. */
  token?: ProviderToken | undefined;
  /** Whether the provider has an endpoint that revokes it. */
  isRevocable?: boolean;
  /** The person whose token it is, once they are known. */
  login_user_id?: string;
  /**
   * `refused` if it came with a code whose person is not known, though the login goes on. `offered`
   * from the write that stores it on, which may be done although it fails.
   */
  state?: 'refused' | 'offered' | 'stored';
}
