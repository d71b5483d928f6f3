import * as v from 'valibot';
import type { ProviderAccess } from '../../login-users/linked-identity.ts';
import { hostOf } from '../settings/fields.ts';

const tokenSchema = v.fallback(v.optional(v.string()), undefined);

/** The answer of a token endpoint, without what can't be read. */
export const tokensSchema = v.fallback(
  v.object({
    access_token: tokenSchema,
    id_token: tokenSchema,
    refresh_token: tokenSchema,
    token_type: tokenSchema,
    expires_in: v.optional(v.unknown()),
    scope: v.optional(v.unknown()),
  }),
  {},
);
export type Tokens = v.InferOutput<typeof tokensSchema>;

/** Seconds for which an access token counts whose lifetime the provider does not tell. */
const assumedLifetime = 300;

/** The most seconds that a lifetime may have. A longer one is no safe number of epoch seconds. */
const longestLifetime = 10 * 365 * 86_400;

/** Whether whoever has the access token of an answer can use it, without a proof of a key. */
export const isBearer = ({ token_type = 'bearer' }: Tokens): boolean =>
  token_type.toLowerCase() === 'bearer';

/**
 * The access token of an answer of a token endpoint, with its end by our clock.
 * @param sentAt epoch seconds of the request: the provider can't have issued the token before
 * @see RFC 6749 section 5.1
 */
export const accessIn = (
  { access_token, expires_in, scope }: Tokens,
  sentAt: number,
  tokenUrl: string,
): Omit<ProviderAccess, 'since'> => ({
  host: hostOf(tokenUrl),
  access_token,
  issued_at: sentAt,
  expires_at: sentAt + lifetimeOf(expires_in),
  scopes: scopesIn(scope),
});

/** The seconds that a provider tells, also as text. */
function lifetimeOf(told: unknown): number {
  const isTold = typeof told === 'number' || (typeof told === 'string' && /^\d+$/.test(told));
  const seconds = isTold ? Math.floor(Number(told)) : assumedLifetime;
  return Math.min(Math.max(0, seconds), longestLifetime);
}

/** The most bytes of scopes that are stored. */
const mostBytes = 4096;

/**
 * The scopes that a provider tells, in a text or a list; undefined if it tells none, or no usable
 * ones.
 * @see RFC 6749 section 3.3
 */
function scopesIn(told: unknown): string[] | undefined {
  const parts: unknown[] = typeof told === 'string' ? told.split(' ') : [told].flat();
  const scopes = parts.filter((part) => part !== undefined && part !== null && part !== '');
  const isScope = (part: unknown): part is string =>
    typeof part === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(part);
  if (scopes.length === 0 || !scopes.every(isScope)) return undefined;
  return scopes.join(' ').length <= mostBytes ? [...new Set(scopes)] : undefined;
}
