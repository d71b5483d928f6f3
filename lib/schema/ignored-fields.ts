/**
 * The names of sent fields that are not read, at any depth.
 * @param read what a schema made of what was sent
 */
export function ignoredFields(sent: unknown, read: unknown, at = ''): string[] {
  if (!isObject(sent) || !isObject(read)) return [];
  return Object.entries(sent).flatMap(([name, value]) => {
    if (Object.hasOwn(read, name)) return ignoredFields(value, read[name], `${at}${name}.`);
    return [/^[\w.-]{1,40}$/.test(name) ? `${at}${name}` : 'a field with an odd name'];
  });
}

/**
 * The names of sent fields whose value can't be used, at any depth, except those that say nothing.
 * @param read what a schema made of what was sent, where such a field is undefined
 */
export function leftOutFields(sent: unknown, read: unknown, at = ''): string[] {
  if (!isObject(sent) || !isObject(read)) return [];
  return Object.entries(sent).flatMap(([name, value]) => {
    if (!Object.hasOwn(read, name) || saysNothing(value)) return [];
    if (read[name] === undefined) return [`${at}${name}`];
    return leftOutFields(value, read[name], `${at}${name}.`);
  });
}

const saysNothing = (value: unknown): boolean =>
  value === null || (typeof value === 'string' && value.trim() === '');

const isObject = (value: unknown): value is Record<string, unknown> =>
  value instanceof Object && !Array.isArray(value);
