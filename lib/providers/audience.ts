import { rejected } from './rejected.ts';

/** Claims of a token about who asked for it and where it may be used, as the provider sent them: unchecked. */
export interface TokenAudience {
  /** The one app that it was issued to, for providers that name it; undefined when `aud` names it. */
  client?: unknown;
  /** Text or a list of texts; may be missing only beside `client`. */
  aud?: unknown;
  /** The authorized party; undefined when the token has none. Null is no app. */
  azp?: unknown;
}

/**
 * A token must have been issued to one of our apps: its authorized party is ours, and so is its client or else one of
 * its audiences. A token for several audiences must name its authorized party, since nobody could tell which of them
 * asked for it.
 * @throws ServiceError `invalid_grant`
 * @see OpenID Connect Core 1.0, section 3.1.3.7, steps 3 to 5
 */
export function rejectForeign({ client, aud, azp }: TokenAudience, audiences: string[]): void {
  const isOurs = (app: unknown) => typeof app === 'string' && audiences.includes(app);
  const apps: unknown[] = [aud ?? []].flat();
  const areNames = apps.every((app) => typeof app === 'string' && app !== '');
  const isForUs = client === undefined ? apps.some(isOurs) : isOurs(client);
  const isAskedForByUs = azp === undefined ? apps.length <= 1 : isOurs(azp);
  if (!areNames || !isForUs || !isAskedForByUs) throw rejected('issued_to_another_app');
}
