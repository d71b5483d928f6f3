import type { IncomingHttpHeaders } from 'node:http';
import * as v from 'valibot';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';
import { routeKeyOf } from '../endpoints.ts';

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
  const isJson = body.contentType === 'application/json';
  const sent = isJson ? v.safeParse(jsonSchema, text).output : Object.fromEntries(new URLSearchParams(text));
  const { success, output } = v.safeParse(body.schema, sent);
  return success ? namesBeyond(sent, output) : [];
}

const jsonSchema = v.pipe(v.string(), v.parseJson());

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

/** A method and a path; those of a request may be any. */
type Endpoint = Parameters<typeof routeKeyOf>[0];

/** A hint at the route that a request may have meant; undefined when none is near. */
export function nearestRoute(endpoints: readonly Endpoint[], wanted: Endpoint): string | undefined {
  const here = endpoints.filter((endpoint) => patternOf(endpoint.path).test(wanted.path));
  if (here.length > 0) return `This path takes ${here.map(({ method }) => method).join(', ')}.`;
  const [nearest] = endpoints
    .map(routeKeyOf)
    .map((key) => ({ key, similarity: similarityOf(key, routeKeyOf(wanted)) }))
    .sort((a, b) => b.similarity - a.similarity);
  return nearest && nearest.similarity > 0.5 ? `There is ${nearest.key}.` : undefined;
}

/** The expression that the paths of a route match, with a group for each parameter. */
export function patternOf(path: string): RegExp {
  const segments = path.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)');
  return new RegExp(`^${segments}$`);
}

/** From 0 to 1, by the pairs of letters that two routes share: the Sørensen–Dice coefficient. */
function similarityOf(one: string, other: string): number {
  const [a, b] = [pairsOf(one), pairsOf(other)];
  const shared = [...a].filter((pair) => b.has(pair));
  return (2 * shared.length) / (a.size + b.size);
}

const pairsOf = (key: string): Set<string> => {
  const text = key.toLowerCase().replaceAll(/\{\w+\}|\d/g, '');
  return new Set([...text].map((letter, at) => `${letter}${text[at + 1] ?? ''}`));
};
