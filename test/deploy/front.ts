import { Agent, request as openRequest } from 'node:http';
import { type LoopbackServer, serve } from '../../infra/local/loopback-server.ts';

/** An address for a deployed API, as a custom domain is. */
export interface Front extends LoopbackServer {
  /** @param host the API's own name, by which MiniStack tells one API from another */
  leadTo(endpoint: string, host: string): void;
}

/**
 * Requests that are forwarded at once; more wait. Each takes a process of its own, and where Lambda has any number
 * of machines, this is one. More than any test's race has, but for those that only want many.
 */
const mostAtOnce = 16;

/** Starts on a free loopback port; answers 503 until it leads somewhere. */
export async function startFront(): Promise<Front> {
  // A connection for each request: MiniStack closes those that were idle for a while, whatever is on its way there.
  const agent = new Agent({ keepAlive: false, maxSockets: mostAtOnce });
  let target: { hostname: string; port: string; host: string } | undefined;
  const server = await serve((request, response) => {
    if (!target) return void response.writeHead(503).end();
    const { hostname, port, host } = target;
    const { method, url: path, headers } = request;
    const forwarded = openRequest(
      // Not as one URL: a path that begins with two slashes would be taken for a host.
      { hostname, port, method, path, agent, headers: { ...headers, host } },
      (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)),
    );
    forwarded.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    request.pipe(forwarded);
  });
  return {
    ...server,
    leadTo: (endpoint, host) => {
      const { hostname, port } = new URL(endpoint);
      target = { hostname, port, host };
    },
    close: async () => {
      agent.destroy();
      await server.close();
    },
  };
}
