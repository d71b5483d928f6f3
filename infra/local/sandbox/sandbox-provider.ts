import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as v from 'valibot';
import { profileFields } from '../../../lib/login-users/profile.ts';

/** An identity provider of the sandbox, mounted at its own path. */
export interface SandboxProvider {
  /** Settings that an operator would give for our app at the provider. */
  settings: object;
  /** Issues what an app would get after a login of the subject: the parameters of a token request. */
  issue(request: CredentialsQuery): Promise<Record<string, string>>;
  /** Makes a notification about a subject, as the provider would send it; undefined of a kind that it has not. */
  notify?(request: NotificationQuery): Promise<{ contentType: string; body: string } | undefined>;
  /** Answers a request to the provider's own protocol. `path` is below the provider's own path, without the query. */
  answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** The setting by which every claim of a profile is kept, each under its own name. */
export const profile = Object.fromEntries(profileFields.map((name) => [name, name]));

/** An app that is registered at a provider. */
export interface App {
  id: string;
  secret: string;
}

/** The two apps that each provider knows: ours, and another one whose credentials must let nobody in. */
export const newApps = (providerId: string) => ({
  'our-app': { id: `${providerId}-our-app`, secret: newSecret() },
  'another-app': { id: `${providerId}-another-app`, secret: newSecret() },
});
export type Apps = ReturnType<typeof newApps>;

/** Ends in characters that a caller has to encode, in HTTP Basic too: RFC 6749, section 2.3.1. */
const newSecret = (): string => `${randomBytes(24).toString('base64url')}+/%&:`;

const hour = 3600;

export const epochSeconds = (): number => Math.floor(Date.now() / 1000);

/** `iat` and `exp` in epoch seconds: for an hour from now, or an hour that ended an hour ago, beyond any leeway. */
export function validity(expired: boolean): { iat: number; exp: number } {
  const iat = epochSeconds() - (expired ? 2 * hour : 0);
  return { iat, exp: iat + hour };
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  response.writeHead(status, headers).end(JSON.stringify(value));
}

const flagSchema = v.optional(
  v.pipe(
    v.picklist(['true', 'false'], 'must be true or false'),
    v.transform((value) => value === 'true'),
  ),
  'false',
);

export const credentialsQuerySchema = v.strictObject(
  {
    subject: v.pipe(v.string(), v.minLength(1, 'must not be empty')),
    audience: v.optional(v.literal('another-app', 'must be another-app, or left out')),
    /** The issuer of provider_f, which has two. */
    issuer: v.optional(v.literal('second', 'must be second, or left out')),
    /** Goes into the id token. */
    nonce: v.optional(v.string()),
    /** The challenge of a code, which then needs the `code_verifier` with this SHA-256. @see RFC 7636 section 4.2 */
    code_challenge: v.optional(
      v.pipe(v.string(), v.regex(/^[\w-]{43}$/, 'must be 43 characters of base64url')),
    ),
    expired: flagSchema,
    /** Adds an access token to the id token: an opaque one, or a JWT. @see RFC 9068 */
    with_access_token: v.optional(
      v.picklist(['true', 'false', 'jwt'], 'must be true, false or jwt'),
      'false',
    ),
    /** Adds an authorization code to the id token of the first issuer. */
    with_code: flagSchema,
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

export const notificationQuerySchema = v.strictObject(
  {
    /** The address of the service that it goes to. */
    to: v.pipe(v.string(), v.regex(/^http:\/\/127\.0\.0\.1:\d+\//, 'must be an address on 127.0.0.1')),
    /** The end of the URI of a security event, or `logout`, or the event of a signed request. */
    event: v.pipe(v.string(), v.minLength(1, 'must not be empty')),
    subject: v.optional(v.string(), 'alice'),
    /** The session that a logout, or an event about one, is about. */
    sid: v.optional(v.string()),
    /** The reason of `account-disabled`: `hijacking` or `bulk-account`. */
    reason: v.optional(v.string()),
  },
  ({ expected }) => (expected === 'never' ? 'is unknown' : 'is required'),
);
type NotificationQuery = v.InferOutput<typeof notificationQuerySchema>;

type CredentialsQuery = v.InferOutput<typeof credentialsQuerySchema>;
