import { checkSettings } from './check-settings.ts';
import type { Combined, GivenSettings } from './given-settings.ts';
import type { ProviderId } from './identifiers.ts';
import { protocols } from './protocols.ts';

/**
 * Combines a provider's settings with new ones that an operator gives.
 * @param current what is stored, with its secrets encrypted; undefined when the provider is not set up
 */
export function combineSettings(
  provider: ProviderId,
  given: GivenSettings,
  current: object | undefined,
): Combined {
  const checked = checkSettings(provider, given.settings);
  if ('problems' in checked) return checked;
  const combined = protocols[provider].combine(given, current);
  return 'problems' in combined ? combined : checkSettings(provider, combined.settings);
}
