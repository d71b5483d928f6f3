/**
 * Whether the `typ` of a JWT is one of some media types, which are given in lower case and without
 * `application/`. A `typ` may have that prefix, and upper and lower case are alike.
 * @see RFC 7515, section 4.1.9
 */
export const isOfType = (typ: unknown, types: readonly string[]): boolean =>
  typeof typ === 'string' && types.includes(typ.toLowerCase().replace(/^application\//, ''));
