import { once } from 'node:events';
import { createServer } from 'node:https';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { callProvider, verificationDeadline } from '../../lib/providers/calls/call-provider.ts';
import { selfSigned } from '../support/provider-stand-in.ts';

/**
 * The connections that providers got, each with whether it resumed a TLS session and how many
 * requests it carried.
 */
const connections: { resumed: boolean; requests: number }[] = [];

function startProvider() {
  const provider = createServer({ key: selfSigned, cert: selfSigned }, (request, response) => {
    const [connection] = connections.slice(-1);
    if (connection) connection.requests += 1;
    response.setHeader('content-type', 'application/json').end('{}');
    request.socket.unref();
  });
  provider.on('secureConnection', (socket: TLSSocket) => {
    connections.push({ resumed: socket.isSessionReused(), requests: 0 });
  });
  return provider.listen(0, '127.0.0.1');
}

const provider = startProvider();
const other = startProvider();
const urlOf = (server: typeof provider): string => {
  const { port } = Object(server.address());
  return `https://127.0.0.1:${port}/verify`;
};
const call = (server: typeof provider) =>
  callProvider({ url: urlOf(server), signal: verificationDeadline() });

const trusted = getCACertificates('default');
beforeAll(async () => {
  process.env.LOG_LEVEL = 'ERROR';
  await Promise.all(
    [provider, other].map((server) => server.listening || once(server, 'listening')),
  );
});
afterAll(() => {
  setDefaultCACertificates(trusted);
  for (const server of [provider, other]) server.close();
});

test('a call of a provider resumes the TLS session of the call before, on a connection of its own', async () => {
  setDefaultCACertificates([...trusted, selfSigned.slice(selfSigned.indexOf('-----BEGIN CERT'))]);
  for (const server of [provider, provider, other, provider]) await call(server);
  expect(connections).toEqual([
    { resumed: false, requests: 1 },
    { resumed: true, requests: 1 },
    { resumed: false, requests: 1 },
    { resumed: true, requests: 1 },
  ]);
});

test('a provider whose certificate is not trusted is not called', async () => {
  const stranger = startProvider();
  await once(stranger, 'listening');
  setDefaultCACertificates(trusted);
  const before = connections.length;
  await expect(call(stranger)).rejects.toThrow();
  expect(connections.slice(before).filter(({ requests }) => requests > 0)).toEqual([]);
  stranger.close();
});
