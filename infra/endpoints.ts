import { globSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, extname, join } from 'node:path';
import type { Access, AnyEndpoint } from '../lib/http/endpoint.ts';

const folder = join(import.meta.dirname, '../functions');

/**
 * Reads the records of all functions by the names of their files: synchronously, for a construct. Needs no environment.
 * @returns those that serve an endpoint, and those without a route
 */
export function readFunctions() {
  const endpoints = new Map<string, AnyEndpoint>();
  const others = new Map<string, Access>();
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

/** The key of a route, as API Gateway writes it: `POST /v1/rbac/access_requests`. */
export const routeKeyOf = ({ method, path }: { method: string; path: string }): string => `${method} ${path}`;

/** The name that `sam local invoke` takes: `issue-token` is `IssueToken`. */
export const logicalIdOf = (key: string): string =>
  key.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
