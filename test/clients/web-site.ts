import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export const webSite = 'docs/examples/web/server.mjs';

/** The address that the sandbox's providers know. */
export const origin = 'http://localhost:8080';

/** Starts the web site of the quickstart, which believes to be at its `ORIGIN`, on a free port. */
export async function startWebSite(environment: Record<string, string>) {
  const server: ChildProcess = spawn(process.execPath, [webSite], {
    env: { PATH: process.env.PATH, PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (!server.stdout) throw new Error('The output of the web site is no pipe.');
  const [printed] = await Promise.race([once(server.stdout, 'data'), once(server, 'exit')]);
  const [, port] = /on port (\d+)/.exec(String(printed)) ?? [];
  if (!port) throw new Error('The web site has not started.');
  return { address: `http://127.0.0.1:${port}`, port, stop: () => server.kill() };
}
