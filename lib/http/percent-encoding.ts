/**
 * A phrase about the first parameter of a form or query that has percent-encoded bytes which are
 * not UTF-8, such as Latin-1's `%FC`; undefined for none. A parser would put U+FFFD in their place,
 * so that several texts become one.
 * @param kind of parameters, as the phrase names them
 * @see URL Standard, section 5.1
 */
export function undecodableParameter(
  encoded: string,
  kind: 'parameter' | 'query parameter',
): string | undefined {
  const undecodable = encoded.split('&').find((one) => !isDecodable(one));
  if (undecodable === undefined) return undefined;
  const [name = ''] = undecodable.split('=');
  const named = /^[\w.[\]-]{1,64}$/.test(name) ? `The ${kind} ${name}` : `A ${kind}`;
  return `${named} has percent-encoded bytes that are not UTF-8.`;
}

/** Whether each row of percent-encoded bytes beyond ASCII is UTF-8. */
const isDecodable = (text: string): boolean =>
  (text.match(/(?:%[89a-f][\da-f])+/gi) ?? []).every(isUtf8);

function isUtf8(bytes: string): boolean {
  try {
    decodeURIComponent(bytes);
    return true;
  } catch {
    return false;
  }
}
