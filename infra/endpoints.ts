import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Access, AnyEndpoint } from '../lib/http/endpoint.ts';

const folder = join(import.meta.dirname, '../functions');

/** The functions of the service by their keys: the names of their files in `functions/`. */
export interface Functions {
  /** Functions that serve an endpoint, with its record. */
  endpoints: ReadonlyMap<string, AnyEndpoint>;
  /** Functions without a route. */
  others: ReadonlyMap<string, Access>;
}

/** Reads the records of all functions. No environment is needed for that. */
export async function readFunctions(): Promise<Functions> {
  const endpoints = new Map<string, AnyEndpoint>();
  const others = new Map<string, Access>();
  for (const file of globSync('*.ts', { cwd: folder }).sort()) {
    const key = basename(file, '.ts');
    const { endpoint, access } = await import(join(folder, file));
    if (endpoint) endpoints.set(key, endpoint);
    else if (access) others.set(key, access);
    else throw new Error(`functions/${file} must export its record, as endpoint or access.`);
  }
  return { endpoints, others };
}

/** The key of a route, as API Gateway writes it: `POST /v1/rbac/access_requests`. */
export const routeKeyOf = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`;
