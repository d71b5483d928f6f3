import type * as v from 'valibot';
import { grantTypes } from '../../login-apps/grant-types.ts';
import { providerIds } from '../../provider-settings/identifiers.ts';

export const unsupportedGrantType = `The grant_type must be one of ${grantTypes.join(', ')}.`;

/** What is wrong with the `grant_type` or the `provider` of a form that fits no grant. */
export function discriminatorProblem({ path, input }: v.BaseIssue<unknown>): string {
  const name = String(path?.[0]?.key);
  if (input === undefined) return `The parameter ${name} is required.`;
  if (Array.isArray(input)) return `The parameter ${name} is repeated.`;
  if (input === '') return `The parameter ${name} is empty.`;
  return name === 'grant_type'
    ? unsupportedGrantType
    : `The provider must be one of ${providerIds.join(', ')}.`;
}
