import * as v from 'valibot';

const flagSchema = v.optional(
  v.pipe(
    v.picklist(['true', 'false'], 'must be true or false'),
    v.transform((value) => value === 'true'),
  ),
  'false',
);

const credentialsQuerySchema = v.strictObject(
  {
    subject: v.pipe(v.string(), v.minLength(1, 'must not be empty')),
    audience: v.optional(v.literal('another-app', 'must be another-app, or left out')),
    /** The issuer of provider_f, which has two. */
    issuer: v.optional(v.literal('second', 'must be second, or left out')),
    /** Goes into the id token. */
    nonce: v.optional(v.string()),
    /** The challenge of a code of provider_b, which then needs the `code_verifier` with this SHA-256. @see RFC 7636 section 4.2 */
    code_challenge: v.optional(
      v.pipe(v.string(), v.regex(/^[\w-]{43}$/, 'must be 43 characters of base64url')),
    ),
    expired: flagSchema,
    /** Adds an access token to the id token: an opaque one, or a JWT. @see RFC 9068 */
    with_access_token: v.optional(
      v.picklist(['true', 'false', 'jwt'], 'must be true, false or jwt'),
      'false',
    ),
    /** Claims of the id token; of an OAuth 2.0 provider those of the profile in its user info, from now on. */
    claims: v.optional(
      v.pipe(
        v.string(),
        v.parseJson({}, 'must be a JSON object'),
        v.record(v.string(), v.unknown(), 'must be a JSON object'),
      ),
    ),
  },
  ({ expected }) => (expected === 'never' ? 'is unknown' : 'is required'),
);

export type CredentialsQuery = v.InferOutput<typeof credentialsQuerySchema>;

/** Reads the query; for a bad one returns the reason as text. */
export function parseCredentialsQuery(query: URLSearchParams): CredentialsQuery | string {
  const parsed = v.safeParse(credentialsQuerySchema, Object.fromEntries(query));
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  return `${v.getDotPath(issue) ?? 'query'}: ${issue.message}`;
}
