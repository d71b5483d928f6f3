import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join, relative } from 'node:path';

/**
 * Lets containers that a folder is mounted into reach ports of 127.0.0.1, through a socket in it
 * for each: `4000.sock`. It opens no address. Where there can be no socket, or the containers have
 * another kernel, they ask for this machine by name.
 * @returns closes the sockets
 */
export async function openHostSockets(folder: string, ports: number[]): Promise<() => void> {
  const servers = ports.map((port) => {
    const server = createServer((container) => joinSockets(container, connect(port, '127.0.0.1')));
    // A relative path is a short one: that of a socket has at most 107 bytes.
    return server.listen(relative('', join(folder, `${port}.sock`)));
  });
  await Promise.allSettled(servers.map((server) => once(server, 'listening')));
  return () => {
    for (const server of servers) server.close();
  };
}

/** Passes on what either sends, until one of them ends. */
function joinSockets(one: Socket, other: Socket): void {
  one.on('error', () => other.destroy());
  other.on('error', () => one.destroy());
  one.pipe(other).pipe(one);
}
