import * as v from 'valibot';
import { protocols } from '../protocols.ts';
import { authorizationCodeProvider, type ProviderId } from '../provider-ids.ts';
import type { MergeResult, SettingsInput } from './given-settings.ts';

/** Settings of a provider with their defaults, or every problem they have. */
export function checkSettings(provider: ProviderId, input: unknown): MergeResult {
  const result = v.safeParse(protocols[provider].settings, input, { abortPipeEarly: true });
  if (!result.success) {
    return {
      problems: result.issues.map((issue) => `${v.getDotPath(issue) ?? 'settings'}: ${problem(issue)}`),
    };
  }
  if (provider !== authorizationCodeProvider && 'authorization_code' in result.output) {
    return {
      problems: [`authorization_code: only ${authorizationCodeProvider} exchanges authorization codes`],
    };
  }
  return { settings: result.output };
}

/**
 * Combines a provider's settings with new ones that an operator gives.
 * @param current what is stored, with its secrets encrypted; undefined when the provider is not set up
 */
export function mergeSettings(provider: ProviderId, given: SettingsInput, current: object | undefined) {
  const checked = checkSettings(provider, given.settings);
  if ('problems' in checked) return checked;
  const combined = protocols[provider].combine(given, current);
  return 'problems' in combined ? combined : checkSettings(provider, combined.settings);
}

function problem(issue: v.BaseIssue<unknown>): string {
  if (issue.expected === 'never') return 'is not a setting of this provider';
  if (issue.input === undefined && issue.kind === 'schema') return 'is missing';
  if (!issue.message.startsWith('Invalid')) return issue.message;
  return `must be ${issue.expected === 'Object' ? 'a JSON object' : issue.expected}`;
}
