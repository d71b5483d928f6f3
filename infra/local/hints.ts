import type { IncomingHttpHeaders } from 'node:http';
import * as v from 'valibot';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';

type Reader = Partial<Pick<AnyEndpoint, 'authenticate' | 'body' | 'parameters'>>;

/** The names of what a request sends in vain: fields of a body that is accepted, and headers like one of another endpoint. */
export function ignoredNames(reader: Reader, headers: IncomingHttpHeaders, body: string): string[] {
  const read = reader.parameters?.headers ?? {};
  const similar = Object.keys(headers).filter((name) => name.includes('idempotency') && !(name in read));
  return [...ignoredFields(reader, body), ...similar.map((name) => `the header ${name}`)];
}

function ignoredFields({ authenticate, body }: Reader, text: string): string[] {
  if (!body || text.length > body.mostBytes) return [];
  const byAuthentication = authenticate?.parameters ?? [];
  const isJson = body.contentType === 'application/json';
  const sent = isJson ? v.safeParse(jsonSchema, text).output : Object.fromEntries(new URLSearchParams(text));
  const { success, output } = v.safeParse(body.schema, sent);
  const unread = success ? namesBeyond(sent, output) : [];
  return unread.filter((name) => !byAuthentication.includes(name));
}

const jsonSchema = v.pipe(v.string(), v.parseJson());

/** The names of sent fields that are not read, at any depth. */
function namesBeyond(sent: unknown, read: unknown, at = ''): string[] {
  if (!isObject(sent) || !isObject(read)) return [];
  return Object.entries(sent).flatMap(([name, value]) => {
    if (name in read) return namesBeyond(value, read[name], `${at}${name}.`);
    return [/^[\w.-]{1,40}$/.test(name) ? `${at}${name}` : 'a field with an odd name'];
  });
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  value instanceof Object && !Array.isArray(value);

/** The key of the route that a request may have meant. */
export function nearestRoute(routeKeys: string[], wanted: string): string | undefined {
  const pairs = pairsOf(wanted);
  return routeKeys
    .map((key) => ({ key, similarity: similarityOf(pairsOf(key), pairs) }))
    .sort((a, b) => b.similarity - a.similarity)[0]?.key;
}

/** The Jaccard index of two routes' pairs of letters, from 0 to 1. */
const similarityOf = (a: Set<string>, b: Set<string>): number => a.intersection(b).size / a.union(b).size;

const pairsOf = (key: string): Set<string> => {
  const text = key.toLowerCase().replaceAll(/\{\w+\}|\d/g, '');
  return new Set([...text].map((letter, at) => `${letter}${text[at + 1] ?? ''}`));
};
