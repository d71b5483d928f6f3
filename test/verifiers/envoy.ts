import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { serve } from '../../infra/local/loopback-server.ts';
import { codeBlock } from '../support/code-blocks.ts';
import { freePort, startServer } from '../support/commands.ts';
import { verdictsOver } from './over-http.ts';

const page = 'verifying-tokens.md';

/** What Envoy does with a request with each token: it lets it pass, with the token, or answers itself. */
export async function verdictsOfEnvoy(
  command: string,
  directory: string,
  env: Record<string, string>,
  tokens: string[],
): Promise<string[]> {
  writeFileSync(join(directory, 'envoy.yaml'), codeBlock(page, 'yaml', 'Envoy'));
  await execa('bash', ['-e'], { cwd: directory, env, input: codeBlock(page, 'sh', 'Envoy') });
  const backend = await serve(({ headers }, response) => {
    response.writeHead(headers.authorization ? 200 : 500).end();
  });
  const port = await freePort();
  const file = join(directory, 'envoy-local.yaml');
  const ports = readFileSync(file, 'utf8')
    .replace('address: 0.0.0.0, port_value: 8000', `address: 127.0.0.1, port_value: ${port}`)
    .replace('port_value: 8080', `port_value: ${new URL(backend.url).port}`);
  writeFileSync(file, ports);
  const url = `http://127.0.0.1:${port}`;
  await using _envoy = await startServer([command, '--config-path', file, '--use-dynamic-base-id'], {
    logFile: join(directory, 'envoy.log'),
    isReady: async () => (await fetch(url).catch(() => undefined))?.status === 401,
  });
  const verdicts = await verdictsOver('GET', url, tokens);
  await backend.close();
  return verdicts;
}
