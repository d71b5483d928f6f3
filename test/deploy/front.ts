import { Agent, request as openRequest } from 'node:http';
import { serve } from '../../infra/local/loopback-server.ts';

/** Requests that are forwarded at once; more wait. Each takes a process of this machine. */
const mostAtOnce = 16;

/**
 * Starts an address for an API of MiniStack, as a custom domain is, on a free loopback port.
 * Answers 503 until it leads there.
 */
export async function startFront(endpoint: string) {
  const { hostname, port } = new URL(endpoint);
  let host: string | undefined;
  // A connection for each request: MiniStack closes those that were idle for a while, whatever is
  // on its way there.
  const agent = new Agent({ keepAlive: false, maxSockets: mostAtOnce });
  const server = await serve((request, response) => {
    if (!host) return void response.writeHead(503).end();
    const { method, url: path, headers } = request;
    const forwarded = openRequest(
      // Not as one URL: a path that begins with two slashes would be taken for a host.
      { hostname, port, method, path, agent, headers: { ...headers, host } },
      (answer) => answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.rawHeaders)),
    );
    forwarded.on('error', () =>
      response.headersSent ? response.destroy() : response.writeHead(502).end(),
    );
    request.pipe(forwarded);
  });
  return {
    ...server,
    /** MiniStack tells APIs apart by the first label of the host that is asked. */
    leadTo: (apiId: string) => {
      host = `${apiId}.execute-api.localhost:${port}`;
    },
    close: async () => {
      agent.destroy();
      await server.close();
    },
  };
}
