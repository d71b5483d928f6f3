import { streamFilter } from '../../lib/publishing/stream-filter.ts';

/** Whether a record of the table's stream passes the filter, as Lambda would find. */
export const passesFilter = (record: object): boolean =>
  streamFilter.some((pattern) => matches(pattern, record));

/**
 * Whether a value matches a pattern. Only operators that the service's filter has are known.
 * @throws Error for any other operator
 * @see AWS Lambda developer guide, "Filter rule syntax"
 */
export function matches(pattern: object, value: unknown): boolean {
  if (Array.isArray(pattern)) return pattern.some((rule: unknown) => matchesRule(rule, value));
  return Object.entries(pattern).every(([name, part]) =>
    name === '$or'
      ? part.some((either: object) => matches(either, value))
      : matches(part, Object(value)[name]),
  );
}

function matchesRule(rule: unknown, value: unknown): boolean {
  if (typeof rule === 'string') return value === rule;
  const [operator = '', operand] = Object.entries(Object(rule))[0] ?? [];
  if (operator === 'exists') return (value !== undefined) === operand;
  if (operator === 'prefix') return typeof value === 'string' && value.startsWith(String(operand));
  throw new Error(`The filter of the stream has an unknown operator: ${JSON.stringify(rule)}.`);
}
