import { epochSeconds } from '../../foundation/clock.ts';
import { rejected, rejectForeign } from '../calls/credential.ts';
import { ProviderFailure } from '../calls/provider-failure.ts';
import { valueAtPath } from '../settings/fields.ts';

/** Claims about the person that an access token or its provider tells besides the user info. */
export interface ToldByToken {
  /** Undefined if that of the user info is not comparable. */
  subject?: string | undefined;
  auth_time?: number | undefined;
}

/**
 * Rejects a token of another app.
 *
 * An app that the answer names by a field of its own is the one that asked for the token. Then
 * `aud` may list other places at which the token may be used, such as the project of the app.
 * @param field where the answer names the app
 */
export function rejectOtherApps(
  body: unknown,
  field: string,
  audiences: string[],
  url: string,
): void {
  const app = appIdAsText(valueAtPath(body, field));
  if (!Array.isArray(app) && (typeof app !== 'string' || app === ''))
    throw new ProviderFailure('unexpected_answer', url, 'no app id');
  const aud = appIdAsText(valueAtPath(body, 'aud'));
  const azp = appIdAsText(valueAtPath(body, 'azp'));
  const client = field === 'aud' ? undefined : app;
  const parties = [client, azp].filter((party) => party !== undefined);
  rejectForeign({ client, aud, parties }, audiences);
}

/**
 * An app id, or a list of them, with numbers as text: some providers number apps. A number beyond
 * 2^53 stays one, since JSON readers round it.
 */
function appIdAsText(app: unknown): unknown {
  if (Array.isArray(app)) return app.map((one) => (Array.isArray(one) ? one : appIdAsText(one)));
  return Number.isSafeInteger(app) ? String(app) : app;
}

/** Epoch seconds in September 2001. An end below it is none: no token lived then. */
const firstEnd = 1_000_000_000;

/**
 * Rejects a token that has expired, by `exp` and `expires_in`. Some providers write numbers as
 * text, and Amazon writes the seconds that are left as `exp`.
 */
export function rejectExpired(body: unknown, url: string): void {
  const exp = Number(valueAtPath(body, 'exp') ?? Infinity);
  const expiresIn = Number(valueAtPath(body, 'expires_in') ?? Infinity);
  if (Number.isNaN(exp + expiresIn))
    throw new ProviderFailure('unexpected_answer', url, 'no usable end');

  const secondsByExp = exp < firstEnd ? exp : exp - epochSeconds();
  if (secondsByExp <= 0 || expiresIn <= 0) throw rejected('token_expired');
}
