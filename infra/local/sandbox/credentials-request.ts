import * as v from 'valibot';

const flag = v.optional(
  v.pipe(
    v.picklist(['true', 'false'], 'must be true or false'),
    v.transform((value) => value === 'true'),
  ),
  'false',
);

/** The query of a provider's `credentials` address. */
const credentialsQuery = v.object(
  {
    subject: v.pipe(v.string(), v.minLength(1, 'must not be empty')),
    audience: v.optional(v.literal('another-app', 'must be another-app, or left out')),
    expired: flag,
    with_access_token: flag,
    claims: v.optional(
      v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.unknown(), 'must be a JSON object')),
    ),
  },
  'is required',
);

export type CredentialsRequest = v.InferOutput<typeof credentialsQuery>;

/** Reads the query; for a bad one returns the reason as text. */
export function parseCredentialsRequest(query: URLSearchParams): CredentialsRequest | string {
  const parsed = v.safeParse(credentialsQuery, Object.fromEntries(query));
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  return `${v.getDotPath(issue) ?? 'query'}: ${issue.message}`;
}
