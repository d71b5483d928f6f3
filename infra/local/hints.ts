import type { IncomingHttpHeaders } from 'node:http';
import * as v from 'valibot';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';
import { ignoredFields, leftOutFields } from '../../lib/schema/ignored-fields.ts';

type Reader = Partial<Pick<AnyEndpoint, 'authenticate' | 'body' | 'parameters'>>;

/**
 * The names of what a request sends in vain: fields of a body that is accepted, and headers like
 * one of another endpoint.
 */
export function ignoredNames(reader: Reader, headers: IncomingHttpHeaders, body: string): string[] {
  const read = reader.parameters?.headers ?? {};
  const similar = Object.keys(headers).filter(
    (name) => name.includes('idempotency') && !(name in read),
  );
  return [...ignoredInBody(reader, body), ...similar.map((name) => `the header ${name}`)];
}

function ignoredInBody({ authenticate, body }: Reader, text: string): string[] {
  if (!body || text.length > body.mostBytes) return [];
  const byAuthentication = authenticate?.parameters ?? [];
  const isJson = body.contentType === 'application/json';
  const sent = isJson
    ? v.safeParse(jsonSchema, text).output
    : Object.fromEntries(new URLSearchParams(text));
  const { success, output } = v.safeParse(body.schema, sent);
  if (!success) return [];
  const unread = [...ignoredFields(sent, output), ...leftOutFields(sent, output)];
  return unread.filter((name) => !byAuthentication.includes(name));
}

const jsonSchema = v.pipe(v.string(), v.parseJson());

/** The key of the route that a request may have meant. */
export function nearestRoute(routeKeys: string[], wanted: string): string | undefined {
  const pairs = pairsOf(wanted);
  return routeKeys
    .map((key) => ({ key, similarity: similarityOf(pairsOf(key), pairs) }))
    .sort((a, b) => b.similarity - a.similarity)[0]?.key;
}

/** The Jaccard index of two routes' pairs of letters, from 0 to 1. */
const similarityOf = (a: Set<string>, b: Set<string>): number =>
  a.intersection(b).size / a.union(b).size;

const pairsOf = (key: string): Set<string> => {
  const text = key.toLowerCase().replaceAll(/\{\w+\}|\d/g, '');
  return new Set([...text].map((letter, at) => `${letter}${text[at + 1] ?? ''}`));
};
