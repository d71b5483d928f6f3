import { readFileSync } from 'node:fs';
import type { Demo } from './demo.ts';
import { gateway, type RequestLine, type Route } from './gateway.ts';
import { loadRoutes, setEnvironment } from './load-functions.ts';
import { filesIn, readStackFile } from './local-files.ts';
import { serve } from './loopback-server.ts';

interface JoinOptions {
  /** The `LOCAL_DIR` of the other stack. */
  directory: string;
  /** The API's port; 0 takes a free one. */
  port: number;
  report: (line: RequestLine) => void;
}

/**
 * Serves the API of a running stack in a second process, with that stack's table, secrets, sandbox, demo and issuer. A
 * deployment has many such processes.
 */
export async function joinStack({ directory, port, report }: JoinOptions) {
  const files = filesIn(directory);
  const demo: Demo = JSON.parse(readFileSync(files.demo, 'utf8'));
  const { aws_endpoint: awsEndpoint } = readStackFile(files);
  const routes: Route[] = [];
  const api = await serve(gateway(routes, report), port);
  setEnvironment({
    issuer: demo.base_url,
    tableName: demo.table_name,
    dynamoDbEndpoint: demo.dynamodb_endpoint,
    awsEndpoint,
  });
  await loadRoutes(routes);
  return { demo: { ...demo, base_url: api.url }, routes, awsEndpoint, close: api.close };
}
