/**
 * The place at which a text stops being JSON: `line 3, column 7`; undefined for JSON. V8's message names the place of some
 * errors only, and quotes the text around the others, which may hold secrets.
 */
export function placeOfJsonError(text: string): string | undefined {
  const error = errorOf(text);
  if (error === undefined) return undefined;
  const [, named] = error.match(/ at position (\d+)/) ?? [];
  let position = Number(named ?? 0);
  // An unexpected token has no position in the message: it ends the shortest beginning of the text with that error.
  const isToken = () => errorOf(text.slice(0, position + 1))?.startsWith('SyntaxError: Unexpected token');
  while (named === undefined && position < text.length && !isToken()) position += 1;
  const before = text.slice(0, position).split('\n');
  return `line ${before.length}, column ${(before.at(-1) ?? '').length + 1}`;
}

function errorOf(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return String(error);
  }
}
