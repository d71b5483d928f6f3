import { Agent, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
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
  const agent = new Agent({ keepAlive: true, maxSockets: mostAtOnce });
  let target: { endpoint: string; host: string } | undefined;
  const forward = (request: IncomingMessage, response: ServerResponse): void => {
    if (!target) return void response.writeHead(503).end();
    const { method, url, headers } = request;
    const forwarded = openRequest(
      // A path that begins with two slashes would be taken for a host.
      { ...addressOf(target.endpoint), method, path: url, agent, headers: { ...headers, host: target.host } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
        answer.pipe(response);
      },
    );
    forwarded.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    request.pipe(forwarded);
  };
  const server = await serve(forward);
  return {
    ...server,
    leadTo: (endpoint, host) => {
      target = { endpoint, host };
    },
    close: async () => {
      agent.destroy();
      await server.close();
    },
  };
}

const addressOf = (endpoint: string): { host: string; port: string } => {
  const { hostname, port } = new URL(endpoint);
  return { host: hostname, port };
};
