// The account in the examples of several endpoints.

/** An account, but for its identities. */
export const exampleAccount = {
  id: 'lu_5nQ0yLkFQ2m7sD9XcVtBzE1hRgJwKpU3oYiAa8TfNqM',
  created_at: '2026-01-31T08:00:00.000Z',
  last_login_at: '2026-03-01T09:30:00.000Z',
};

/** The first identity of the account. */
export const exampleIdentity = {
  id: 'i_Zk3vQ8xWc1LmN0pRsTuV2w',
  provider: 'provider_f' as const,
  linked_at: '2026-01-31T08:00:00.000Z',
  last_login_at: '2026-03-01T09:30:00.000Z',
};
