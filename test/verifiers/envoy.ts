import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serve } from '../../infra/local/loopback-server.ts';
import { startServer } from '../support/commands.ts';
import { example, recipe } from './recipes.ts';

/** The recipe, for the service on this machine, which speaks no TLS. */
const configuration = (
  issuer: string,
  loginAppId: string,
  ports: { listener: string; backend: string },
): string =>
  recipe('Envoy', 'yaml')
    .replaceAll(example.issuer, issuer)
    .replaceAll(example.loginAppId, loginAppId)
    .replace(/^ {6}transport_socket:.*/ms, '')
    .replace(
      'address: login.example.com, port_value: 443',
      `address: 127.0.0.1, port_value: ${new URL(issuer).port}`,
    )
    .replace('address: 0.0.0.0, port_value: 8000', `address: 127.0.0.1, port_value: ${ports.listener}`)
    .replace('port_value: 8080', `port_value: ${ports.backend}`);

/** What Envoy does with a request with each token: it lets it pass, or answers itself. */
export async function verdictsOfEnvoy(
  command: string,
  { directory, issuer, loginAppId }: { directory: string; issuer: string; loginAppId: string },
  tokens: string[],
): Promise<string[]> {
  const backend = await serve((_, response) => response.end());
  // Envoy tells no port that it has taken; so one that was free a moment ago must do.
  const { url, close } = await serve(() => {});
  await close();
  const ports = { listener: new URL(url).port, backend: new URL(backend.url).port };
  const file = join(directory, 'envoy.yaml');
  writeFileSync(file, configuration(issuer, loginAppId, ports));
  await using _envoy = await startServer([command, '--config-path', file, '--use-dynamic-base-id'], {
    logFile: join(directory, 'envoy.log'),
    isReady: async () => (await fetch(url).catch(() => undefined))?.status === 401,
  });
  const verdicts: string[] = [];
  for (const token of tokens) {
    const { status } = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    verdicts.push(status === 200 ? 'accepted' : `rejected: ${status}`);
  }
  await backend.close();
  return verdicts;
}
