import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, extname, join } from 'node:path';
import type { AnyEndpoint, FunctionRecord } from '../lib/http/endpoint.ts';

const folder = join(import.meta.dirname, '../functions');

/**
 * Reads the records of all functions by the names of their files: synchronously, for a construct.
 * Needs no environment.
 */
export function readFunctions() {
  const endpoints = new Map<string, AnyEndpoint>();
  const others = new Map<string, FunctionRecord>();
  const extension = extname(import.meta.filename);
  const load = createRequire(import.meta.url);
  for (const file of globSync(`*${extension}`, { cwd: folder }).sort()) {
    const key = basename(file, extension);
    const { endpoint, access } = load(join(folder, file));
    if (endpoint) endpoints.set(key, endpoint);
    else if (access) others.set(key, access);
    else throw new Error(`functions/${file} must export its record, as endpoint or access.`);
  }
  return { endpoints, others };
}

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
