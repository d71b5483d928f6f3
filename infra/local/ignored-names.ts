import type { IncomingHttpHeaders } from 'node:http';
import * as v from 'valibot';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';

type Reader = Partial<Pick<AnyEndpoint, 'body' | 'parameters'>>;

/**
 * The names of what a request sends and its endpoint doesn't read: fields of a body that is accepted, and headers that look
 * like one of another endpoint.
 */
export function ignoredNames(reader: Reader, headers: IncomingHttpHeaders, body: string): string[] {
  const read = reader.parameters?.headers ?? {};
  const similar = Object.keys(headers).filter((name) => name.includes('idempotency') && !(name in read));
  return [...ignoredFields(reader, body), ...similar.map((name) => `the header ${name}`)];
}

function ignoredFields({ body }: Reader, text: string): string[] {
  if (!body) return [];
  const sent =
    body.contentType === 'application/json' ? parsed(text) : Object.fromEntries(new URLSearchParams(text));
  const { success, output } = v.safeParse(body.schema, sent);
  return success ? namesBeyond(sent, output) : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The names of fields that the one has and the other lacks, at any depth. */
function namesBeyond(sent: unknown, read: unknown, at = ''): string[] {
  if (!isObject(sent) || !isObject(read)) return [];
  return Object.entries(sent).flatMap(([name, value]) => {
    if (name in read) return namesBeyond(value, read[name], `${at}${name}.`);
    return [/^[\w.-]{1,40}$/.test(name) ? `${at}${name}` : 'a field with an odd name'];
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  value instanceof Object && !Array.isArray(value);
