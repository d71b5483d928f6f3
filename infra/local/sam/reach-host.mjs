// Runs in SAM's container before a function: there, too, 127.0.0.1 then leads to the servers of `npm start`. It asks the
// sockets beside this file, or, where a container has no sockets of its host, the names that Docker and Podman give to it.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';

const names = ['host.docker.internal', 'host.containers.internal'];

/** A connection to the port of the host. @throws Error when none of its addresses answers */
async function connectToHost(port) {
  const socket = { path: join(import.meta.dirname, `${port}.sock`) };
  const failures = [];
  for (const address of [socket, ...names.map((host) => ({ host, port }))]) {
    const connection = connect(address);
    try {
      await once(connection, 'connect');
      return connection;
    } catch (error) {
      failures.push(`${address.path ?? address.host}: ${error.message}`);
    }
  }
  throw new Error(`npm start cannot be reached from this container. ${failures.join('; ')}`);
}

for (const port of process.env.HOST_PORTS.split(' ').map(Number)) {
  const server = createServer({ pauseOnConnect: true }, async (caller) => {
    caller.on('error', () => {});
    try {
      const host = await connectToHost(port);
      host.on('error', () => caller.destroy());
      host.pipe(caller).pipe(host);
    } catch (error) {
      process.stderr.write(`${error.message}\n`);
      caller.destroy();
    }
  });
  server.listen(port, '127.0.0.1').unref();
  await once(server, 'listening');
}
