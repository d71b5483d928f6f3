import { valueAtPath } from '../schema/value-at-path.ts';
import { ProviderFailure } from './provider-failure.ts';

/** The longest subject that is stored, in characters; OpenID Connect allows 255. */
const longestSubject = 255;

/**
 * The person's id in an answer, as text. Undefined when it is missing, of the other type, empty, too long, or not
 * well-formed Unicode, which no store keeps. Nor is an integer beyond 2^53 an id: JSON readers round it, so two people could share it.
 */
export function subjectAt(answer: unknown, path: string, type: 'string' | 'integer' = 'string') {
  const value = valueAtPath(answer, path);
  if (type === 'integer') return Number.isSafeInteger(value) ? String(value) : undefined;
  if (typeof value !== 'string' || !value.isWellFormed()) return undefined;
  return value.length > 0 && value.length <= longestSubject ? value : undefined;
}

/** The person's id in an answer, as text. @throws ProviderFailure for an answer without a usable one */
export function requiredSubject(answer: unknown, url: string, path: string, type?: 'string' | 'integer') {
  const subject = subjectAt(answer, path, type);
  if (subject === undefined) throw new ProviderFailure('unexpected_answer', url, `no usable ${path}`);
  return subject;
}
