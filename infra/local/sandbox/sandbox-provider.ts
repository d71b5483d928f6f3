import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AccessToken } from 'oidc-provider';
import * as v from 'valibot';
import { profileFields } from '../../../lib/login-users/profile.ts';

/** An identity provider of the sandbox. */
export interface SandboxProvider {
  /** The settings that an operator would give for our app at the provider. */
  settings: object;
  /**
   * Issues the credentials of an app after a login of the subject: parameters of a token request.
   */
  issue(request: CredentialsQuery): Promise<Record<string, string | undefined>>;
  /**
   * The notification about a subject that the provider would send; undefined if it has no such
   * event.
   */
  notify?(request: NotificationQuery): Promise<URLSearchParams | Blob | undefined>;
  /** An unexpired access token. */
  findAccessToken?(token: string): Promise<AccessToken | undefined>;
  /** Ends all that a subject has granted to our apps, as people do in their account there. */
  revokeConsent?(subject: string): Promise<void>;
  /**
   * Answers a request of the provider's protocol. `path` is below the provider's own, without the
   * query.
   */
  answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/**
 * Sends a provider's notification to the service.
 * @returns it with the answer
 */
export async function post(to: string, body: URLSearchParams | Blob) {
  const response = await fetch(to, { method: 'POST', body, redirect: 'error' });
  return {
    sent: await new Response(body).text(),
    status: response.status,
    answer: await response.text(),
  };
}

/** The setting that keeps every claim of a profile under its own name. */
export const profile = Object.fromEntries(profileFields.map((name) => [name, name]));

/** The apps that a provider knows: ours, and another one, whose credentials must let nobody in. */
export const newApps = (providerId: string) => ({
  'our-app': { id: `${providerId}-our-app`, secret: newSecret() },
  'another-app': { id: `${providerId}-another-app`, secret: newSecret() },
});
export type Apps = ReturnType<typeof newApps>;
export type App = Apps['our-app'];

/**
 * A secret with characters that a caller has to encode, even in HTTP Basic.
 * @see RFC 6749, section 2.3.1
 */
const newSecret = (): string => `${randomBytes(24).toString('base64url')}+/%&:`;

const hour = 3600;

export const epochSeconds = (): number => Math.floor(Date.now() / 1000);

/**
 * `iat` and `exp` in epoch seconds: of an hour from now, or one that ended an hour ago, beyond any
 * leeway.
 */
export function validity(expired: CredentialsQuery['expired']): { iat: number; exp: number } {
  const iat = epochSeconds() - (expired === 'true' ? 2 * hour : 0);
  return { iat, exp: iat + hour };
}

export const credentialsQuerySchema = v.strictObject({
  subject: v.pipe(v.string(), v.nonEmpty()),
  audience: v.optional(v.picklist(['our-app', 'another-app']), 'our-app'),
  /** The issuer of provider_f, which has two. */
  issuer: v.optional(v.literal('second')),
  /** The nonce in the id token. */
  nonce: v.optional(v.string()),
  /**
   * The SHA-256 of the `code_verifier` that the code needs.
   * @see RFC 7636, section 4.2
   */
  code_challenge: v.optional(v.pipe(v.string(), v.regex(/^[\w-]{43}$/))),
  expired: v.optional(v.picklist(['true', 'false'])),
  /**
   * The fate of the refresh token that comes for the code: by default it stays. It may be replaced
   * with each refresh; or a refresh finds that it is no longer valid, or that the provider takes no
   * more requests (429).
   */
  refresh_token: v.optional(v.picklist(['rotates', 'dies', 'throttled'])),
  /** Seconds for which the access tokens that come for the code, and for its refresh token, count. */
  lifetime: v.optional(v.pipe(v.string(), v.regex(/^[1-9]\d{0,4}$/), v.transform(Number))),
  /** Whether the authorization code may be exchanged more than once. */
  reusable: v.optional(v.picklist(['true', 'false'])),
  /**
   * The access token beside the id token: an opaque one, or a JWT.
   * @see RFC 9068
   */
  with_access_token: v.optional(v.picklist(['true', 'jwt'])),
  /** Whether an authorization code comes beside the id token. */
  with_code: v.optional(v.picklist(['true', 'false'])),
  /** Claims of the id token; at an OAuth 2.0 provider, those of the user info from now on. */
  claims: v.optional(v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.unknown()))),
});
export type CredentialsQuery = v.InferOutput<typeof credentialsQuerySchema>;

export const consentQuerySchema = v.strictObject({ subject: v.pipe(v.string(), v.nonEmpty()) });

/**
 * An address of the stack. The sandbox calls no other: anybody may ask it to.
 * @param stackUrls the origins of its API
 */
export const addressSchema = (stackUrls: readonly string[]) =>
  v.pipe(
    v.string(),
    v.check(
      (address) => stackUrls.includes(URL.parse(address)?.origin ?? ''),
      `It must be an address of this stack, ${stackUrls.join(' or ') || 'which has none'}.`,
    ),
  );

export const notificationQuerySchema = (stackUrls: readonly string[]) =>
  v.strictObject({
    /** The address at the service. */
    to: addressSchema(stackUrls),
    /** The end of the URI of a security event, `logout`, or the event of a signed request. */
    event: v.pipe(v.string(), v.nonEmpty()),
    subject: v.optional(v.string(), 'alice'),
    /** The session of a logout or a security event. */
    sid: v.optional(v.string()),
    /** The reason of `account-disabled`: `hijacking` or `bulk-account`. */
    reason: v.optional(v.string()),
  });
type NotificationQuery = v.InferOutput<ReturnType<typeof notificationQuerySchema>>;
