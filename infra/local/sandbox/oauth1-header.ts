import type { Parameter } from './oauth1-signature.ts';

const pair = /^([^=\s]+)="([^"]*)"$/;

/**
 * Reads the parameters of an `Authorization: OAuth …` header, decoded and without `realm`.
 * Returns undefined for a header that is none, or is malformed.
 *
 * @see RFC 5849, section 3.5.1
 */
export function parseOAuth1Header(header: string | undefined): Parameter[] | undefined {
  const list = /^OAuth +(.+)$/i.exec(header ?? '')?.[1];
  const pairs = list?.split(',').map((text) => pair.exec(text.trim()));
  const parameters: Parameter[] = [];
  for (const match of pairs ?? [null]) {
    const [name, value] = [decode(match?.[1]), decode(match?.[2])];
    if (name === undefined || value === undefined) return undefined;
    if (name !== 'realm') parameters.push([name, value]);
  }
  return parameters;
}

function decode(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
