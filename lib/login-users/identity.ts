import type { Profile } from './profile.ts';

/** A person, as whoever vouches for them knows them. */
export interface Identity {
  /** The authority that vouches: the issuer of an id token, or the `namespace` of an OAuth provider's settings. */
  namespace: string;
  /** Their id of the person. */
  subject: string;
}

/** An identity that a provider has just vouched for. */
export interface VerifiedIdentity extends Identity {
  /** The provider's own refresh token, where its settings say that it is kept to be revoked. */
  revocableToken?: string;
  /** The claims about the person that the settings name; absent when it has told none of them. */
  profile?: Profile | undefined;
}
