import { valueAtPath } from '../schema/value-at-path.ts';
import { rejected } from './rejected.ts';

/** Claims of a token about who asked for it and where it may be used, as the provider sent them: unchecked. */
interface TokenAudience {
  /** The one app that it was issued to, for providers that name it; undefined when `aud` names it. */
  client?: unknown;
  /** Text or a list of texts; may be missing only beside `client`. */
  aud?: unknown;
  /** The authorized party, from each claim that names it; none when the token has no such claim. Null is no app. */
  parties: unknown[];
}

/** Claims for the app that a JWT was issued to: of OpenID Connect, of RFC 9068, of Okta, and of Entra's v1.0 tokens. */
const appClaims = ['azp', 'client_id', 'cid', 'appid'];

/**
 * The audience of a JWT. Its `aud` may be an API that other apps call, too, so whatever claim names the app counts as the
 * authorized party.
 * @param field where it has the app that it was issued to
 */
export function audienceIn(claims: object, field: string): TokenAudience {
  const app = valueAtPath(claims, field) ?? null;
  const named = appClaims.map((claim) => valueAtPath(claims, claim)).filter((value) => value !== undefined);
  return { aud: valueAtPath(claims, 'aud') ?? app, parties: field === 'aud' ? named : [app, ...named] };
}

/**
 * A token must have been issued to one of our apps: its authorized party is ours, by each claim that names it, and so is
 * its client or else one of its audiences. A token for several audiences must name its authorized party, since nobody
 * could tell which of them asked for it.
 * @throws ServiceError `invalid_grant`
 * @see OpenID Connect Core 1.0, section 3.1.3.7, steps 3 to 5
 */
export function rejectForeign({ client, aud, parties }: TokenAudience, audiences: string[]): void {
  const isOurs = (app: unknown) => typeof app === 'string' && audiences.includes(app);
  const apps: unknown[] = [aud ?? []].flat();
  const areNames = apps.every((app) => typeof app === 'string' && app !== '');
  const isForUs = client === undefined ? apps.some(isOurs) : isOurs(client);
  const isAskedForByUs = parties.length === 0 ? apps.length <= 1 : parties.every(isOurs);
  if (!areNames || !isForUs || !isAskedForByUs) throw rejected('issued_to_another_app');
}
