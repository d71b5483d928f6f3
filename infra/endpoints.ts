import type { AnyEndpoint, FunctionRecord } from '../lib/http/endpoint.ts';
import { functions } from './function-index.ts';

/** Exports of the file of a function: its record. */
type FunctionModule = { endpoint: LoadedEndpoint } | { access: FunctionRecord };

/** An endpoint, whose document is only left out of what Lambda runs. */
type LoadedEndpoint = Omit<AnyEndpoint, 'document'> &
  Record<'document', AnyEndpoint['document'] | false>;

/**
 * The records of all functions by the names of their files. Needs no environment.
 * @throws Error in a bundle for Lambda
 */
export function readFunctions() {
  const endpoints = new Map<string, AnyEndpoint>();
  const others = new Map<string, FunctionRecord>();
  for (const [key, module] of Object.entries<FunctionModule>(functions)) {
    if ('access' in module) others.set(key, module.access);
    else if (isDocumented(module.endpoint)) endpoints.set(key, module.endpoint);
    else throw new Error(`The endpoint ${key} has no document.`);
  }
  return { endpoints, others };
}

const isDocumented = (endpoint: LoadedEndpoint): endpoint is AnyEndpoint =>
  endpoint.document !== false;

export function partsOf({ route }: Pick<AnyEndpoint, 'route'>) {
  const [method = '', path = ''] = route.split(' ');
  return { method, path };
}

/** Compares endpoints by their paths. */
export const byPath = (a: AnyEndpoint, b: AnyEndpoint) =>
  partsOf(a).path < partsOf(b).path ? -1 : 1;

/**
 * A name in Pascal case: `issue-token` is `IssueToken`, its logical id, which `sam local invoke`
 * takes.
 */
export const pascal = (name: string): string =>
  name.replace(/(?:^|[-_])(\w)/g, (_, letter: string) => letter.toUpperCase());
