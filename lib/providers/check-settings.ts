import * as v from 'valibot';
import {
  authorizationCodeProvider,
  type ProviderFamily,
  type ProviderId,
  providerFamilies,
} from './identifiers.ts';
import { settingsSchemas } from './settings.ts';

/** The settings that a provider needs, or each reason why these are not. */
export function checkSettings(
  provider: ProviderId,
  settings: unknown,
): { settings: object } | { problems: string[] } {
  const family: ProviderFamily = providerFamilies[provider];
  const result = v.safeParse<v.GenericSchema<unknown, object>>(settingsSchemas[family], settings, {
    abortPipeEarly: true,
  });
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

function problem(issue: v.BaseIssue<unknown>): string {
  if (issue.expected === 'never') return 'is not a setting of this provider';
  if (issue.input === undefined && issue.kind === 'schema') return 'is missing';
  if (!issue.message.startsWith('Invalid')) return issue.message;
  return `must be ${issue.expected === 'Object' ? 'a JSON object' : issue.expected}`;
}
