import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { startCommand } from '../version.ts';

/**
 * The body of a request or response. Every call between the parts of a stack passes here, and Node's
 * own `buffer` takes several times as long, since it makes a Blob first.
 * @throws Error when the connection ends before the body does
 */
export function readBody(message: IncomingMessage): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  message.on('data', (chunk: Buffer) => chunks.push(chunk));
  message.on('end', () => resolve(Buffer.concat(chunks)));
  message.on('error', reject);
  return promise;
}

export interface LoopbackServer {
  url: string;
  close(): Promise<void>;
}

export const loopback = '127.0.0.1';
/** Stands for every address of this machine, on all its networks. */
export const everyAddress = '0.0.0.0';

export interface ListenOptions {
  /**
   * The address of this machine to listen at.
   * @default 127.0.0.1
   */
  host?: string | undefined;
  /**
   * Takes a line for each request that is refused since another web page sends it, or one under
   * another name.
   */
  print?: ((line: string) => void) | undefined;
}

/**
 * Listens on a port; 0 takes a free one. Pages of other addresses get a 403.
 * @throws listen errors such as EADDRINUSE
 */
export async function listen(server: Server, port: number, options: ListenOptions = {}) {
  const { host = loopback, print = () => {} } = options;
  refuseStrangers(server, print);
  // Only clients end idle connections: a request of one that was busy for seconds could meet a
  // connection that is closing.
  server.keepAliveTimeout = 0;
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || !address) throw new Error('The server has no address.');
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url: `http://${loopback}:${address.port}`, port: address.port, close };
}

/**
 * Serves at 127.0.0.1, and at the address of another `host` too, on the same port.
 * @returns its address on this machine
 */
export async function serve(listener: RequestListener, port = 0, options: ListenOptions = {}) {
  const { host = loopback } = options;
  // The listener decides how long headers may be.
  const newServer = () => createServer({ maxHeaderSize: 1024 * 1024 }, listener);
  if (host === everyAddress) return listen(newServer(), port, options);
  const here = await listen(newServer(), port, { ...options, host: loopback });
  if (host === loopback) return here;
  const onNetwork = await listen(newServer(), here.port, options);
  return {
    ...here,
    close: async () => void (await Promise.all([here.close(), onNetwork.close()])),
  };
}

function refuseStrangers(server: Server, print: (line: string) => void): void {
  const listeners = server.listeners('request');
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const problem = strangeHeader(request);
    if (problem === undefined) {
      for (const listener of listeners) Reflect.apply(listener, server, [request, response]);
      return;
    }
    const { pathname = '' } = URL.parse(`http://${loopback}${request.url}`) ?? {};
    print(`${request.method} ${pathname} 403 forbidden: ${problem}`);
    sendJson(response, 403, { error: 'forbidden', error_description: problem });
  });
}

/**
 * Names of this machine, also those that Docker and Podman give it in their containers. No web page
 * can have one.
 */
const ownNames = /^([\d.]+|\[.*\]|(.*\.)?localhost|host\.(docker|containers)\.internal)$/;

/** Whether `HOSTS` has this name: one of this machine, or one whose pages may send requests. */
const isAllowed = (name: string): boolean =>
  name !== '' && (process.env.HOSTS ?? '').toLowerCase().split(',').includes(name);

/**
 * Says which header shows that another web page sends a request, and what to do; undefined for any
 * other request. The name of a page's site may point at this machine (DNS rebinding), so any name
 * but our own and those in `HOSTS` is strange. IP addresses are not: emulators have one for the
 * machine that they run on.
 */
function strangeHeader({ headers: { host = '', origin } }: IncomingMessage): string | undefined {
  const named = URL.parse(`http://${host}`)?.hostname ?? '';
  const isHere = ownNames.test(named) || isAllowed(named);
  if (!isHere) return `The header Host is not a name of this machine. ${adviceOn(named)}`;
  if (origin === undefined || origin === `http://${host}`) return undefined;
  const page = URL.parse(origin)?.hostname ?? '';
  if (isAllowed(page)) return undefined;
  return `The header Origin is not this server: no other web page may send requests here. ${adviceOn(page)}`;
}

const adviceOn = (host: string): string =>
  /^[\w.-]{1,253}$/.test(host)
    ? `To allow it, restart with HOSTS=${host} ${startCommand}.`
    : `Use ${loopback} or localhost.`;

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
  };
  response.writeHead(status, headers).end(JSON.stringify(value));
}
