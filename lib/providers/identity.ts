/** A person, as whoever vouches for them knows them. */
export interface Identity {
  /** Who vouches: the issuer of an id token, or the `namespace` of an OAuth provider's settings. */
  namespace: string;
  /** Their id of the person. */
  subject: string;
}
