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
  notify?(request: NotificationQuery): Promise<URLSearchParams | Blob | undefined>;
  /** Answers a request to the provider's own protocol. `path` is below the provider's own path, without the query. */
  answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** Sends a notification of a provider to the service. Returns it with what the service answers. */
export async function post(to: string, body: URLSearchParams | Blob) {
  const response = await fetch(to, { method: 'POST', body });
  const sent = await new Response(body).text();
  return { sent, status: response.status, answer: await response.text() };
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
export function validity(expired: CredentialsQuery['expired']): { iat: number; exp: number } {
  const iat = epochSeconds() - (expired === 'true' ? 2 * hour : 0);
  return { iat, exp: iat + hour };
}

export const credentialsQuerySchema = v.strictObject({
  subject: v.pipe(v.string(), v.nonEmpty()),
  audience: v.optional(v.picklist(['our-app', 'another-app']), 'our-app'),
  /** The issuer of provider_f, which has two. */
  issuer: v.optional(v.literal('second')),
  /** Goes into the id token. */
  nonce: v.optional(v.string()),
  /** The challenge of a code, which then needs the `code_verifier` with this SHA-256. @see RFC 7636 section 4.2 */
  code_challenge: v.optional(v.pipe(v.string(), v.regex(/^[\w-]{43}$/))),
  expired: v.optional(v.picklist(['true', 'false'])),
  /** Adds an access token to the id token: an opaque one, or a JWT. @see RFC 9068 */
  with_access_token: v.optional(v.picklist(['true', 'jwt'])),
  /** Adds an authorization code to the id token. */
  with_code: v.optional(v.picklist(['true', 'false'])),
  /** Claims of the id token; of an OAuth 2.0 provider those of the profile in its user info, from now on. */
  claims: v.optional(v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.unknown()))),
});
type CredentialsQuery = v.InferOutput<typeof credentialsQuerySchema>;

export const notificationQuerySchema = v.strictObject({
  /** The address of the service that it goes to. */
  to: v.pipe(v.string(), v.regex(/^http:\/\/127\.0\.0\.1:\d+\//)),
  /** The end of the URI of a security event, or `logout`, or the event of a signed request. */
  event: v.pipe(v.string(), v.nonEmpty()),
  subject: v.optional(v.string(), 'alice'),
  /** The session that a logout, or an event about one, is about. */
  sid: v.optional(v.string()),
  /** The reason of `account-disabled`: `hijacking` or `bulk-account`. */
  reason: v.optional(v.string()),
});
type NotificationQuery = v.InferOutput<typeof notificationQuerySchema>;
