import { rejected } from './rejected.ts';

/**
 * A token must have been issued to one of our apps: its authorized party is ours, and so is one of its audiences. A
 * token for several audiences must name its authorized party, since nobody could tell which of them asked for it.
 * @param aud the app, or the apps, that the token is for
 * @param azp the authorized party; undefined when the token has none
 * @throws ServiceError `invalid_grant`
 * @see OpenID Connect Core 1.0, section 3.1.3.7, steps 3 to 5
 */
export function rejectForeign({ aud, azp }: { aud?: unknown; azp?: unknown }, audiences: string[]): void {
  const isOurs = (app: unknown) => typeof app === 'string' && audiences.includes(app);
  const apps = [aud].flat();
  const isIssuedToUs = azp === undefined ? apps.length === 1 : isOurs(azp);
  if (!isIssuedToUs || !apps.some(isOurs)) throw rejected('issued_to_another_app');
}
