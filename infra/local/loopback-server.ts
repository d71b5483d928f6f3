import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';

export { buffer as readBody } from 'node:stream/consumers';

export interface LoopbackServer {
  url: string;
  close(): Promise<void>;
}

/** Listens on 127.0.0.1; port 0 takes a free one. Pages of other addresses get a 403. @throws listen errors such as EADDRINUSE */
export async function listen(server: Server, port: number): Promise<LoopbackServer> {
  refuseStrangers(server);
  // Only clients end idle connections: a request of one that was busy for seconds could meet a connection that is closing.
  server.keepAliveTimeout = 0;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('The server has no address.');
  return {
    url: `http://127.0.0.1:${address.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export const serve = (listener: RequestListener, port = 0): Promise<LoopbackServer> =>
  // The listener decides how long headers may be.
  listen(createServer({ maxHeaderSize: 1024 * 1024 }, listener), port);

function refuseStrangers(server: Server): void {
  const listeners = server.listeners('request');
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    if (!isStrange(request))
      for (const listener of listeners) Reflect.apply(listener, server, [request, response]);
    else response.writeHead(403).end('No other web page may send requests here, nor under another name.');
  });
}

/**
 * Whether another web page sends a request. The name of its site may point at this machine (DNS rebinding), so any name but
 * localhost is strange. IP addresses are not: emulators have one for the machine that they run on.
 */
function isStrange({ headers: { host = '', origin } }: IncomingMessage): boolean {
  const { hostname = '' } = URL.parse(`http://${host}`) ?? {};
  const isHere = /^([\d.]+|\[.*\]|(.*\.)?localhost)$/.test(hostname);
  return !isHere || (origin !== undefined && origin !== `http://${host}`);
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  response.writeHead(status, headers).end(JSON.stringify(value));
}
