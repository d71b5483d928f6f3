import * as v from 'valibot';
import { logEvent } from '../log/log.ts';
import { type Profile, profileSchema } from '../login-users/profile.ts';
import { valueAtPath } from '../schema/value-at-path.ts';
import type { ProfileSetting } from './settings/fields.ts';

/**
 * The claims that settings name, from a provider's answer or id token; undefined when there are none. One that is too
 * long or of another type is left out and logged by its name. No claim is worth a login that fails.
 */
export function profileIn(answer: unknown, setting: ProfileSetting): Profile | undefined {
  const named = Object.entries(setting ?? {}).map(
    ([name, path]) => [name, valueAtPath(answer, path)] as const,
  );
  // Null and an empty text stand for no claim. @see OpenID Connect Core 1.0, section 5.3.2
  const told = named.filter(([, value]) => value !== undefined && value !== null && value !== '');
  const { issues = [] } = v.safeParse(profileSchema, Object.fromEntries(told));
  const unusable = new Set(issues.map((issue) => v.getDotPath(issue)));
  if (unusable.size > 0) logEvent('profile_fields_left_out', { fields: [...unusable].join(', ') });
  const usable = told.filter(([name]) => !unusable.has(name));
  return usable.length > 0 ? v.parse(profileSchema, Object.fromEntries(usable)) : undefined;
}
