import { routeKeyOf } from '../endpoints.ts';

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
