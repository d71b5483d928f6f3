import { once } from 'node:events';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const { requireLoginUser, verifier } = await import(pathToFileURL(process.argv[2]).href);
// The library fetches keys over HTTPS alone, which the service on this machine does not speak.
const keys = await fetch(`${process.env.ISSUER}/v2/marketing/oauth/jwks`);
verifier.cacheJwks(await keys.json());

const server = createServer((request, response) => requireLoginUser(request, response, () => response.end()));
await once(server.listen(0, '127.0.0.1'), 'listening');
for await (const token of createInterface({ input: process.stdin })) {
  const headers = { authorization: `Bearer ${token}` };
  const { status } = await fetch(`http://127.0.0.1:${server.address().port}`, { headers });
  process.stdout.write(status === 200 ? 'accepted\n' : `rejected: ${status}\n`);
}
server.close();
