/**
 * The place at which a text stops being JSON: `line 3, column 7`; undefined for JSON. V8's message
 * names the place of some errors only, and quotes the text around the others, which may hold
 * secrets.
 */
export function placeOfJsonError(text: string): string | undefined {
  const error = errorOf(text);
  if (error === undefined) return undefined;
  const [, named] = error.match(/ at position (\d+)/) ?? [];
  const position = named === undefined ? placeOfToken(text) : Number(named);
  const before = text.slice(0, position).split('\n');
  return `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`;
}

/**
 * The position of an unexpected token, which the message does not tell; the end of the text if
 * there is none. Every beginning of the text that has the token has the same error, so halving
 * finds it by twenty tries in a million characters.
 */
function placeOfToken(text: string): number {
  let from = 0;
  let to = text.length;
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const error = errorOf(text.slice(0, middle + 1));
    if (error?.startsWith('SyntaxError: Unexpected token')) to = middle;
    else from = middle + 1;
  }
  return from;
}

function errorOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return String(error);
  }
}
