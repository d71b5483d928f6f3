import { LocalSecrets } from '../../infra/local/local-secrets.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';

/** Sees each call of Secrets Manager before it is answered, by its name. May take its time, or let the call go wrong. */
type SecretsHook = (
  call: string,
  input: Record<string, unknown>,
) => Promise<'fails' | 'stalls' | undefined> | 'fails' | 'stalls' | undefined;

/** Secrets Manager for code that runs in this process, which a test can watch and disturb. The environment then names it. */
export async function startSecretsStandIn() {
  const secrets = new LocalSecrets();
  const server = await serve(async (request, response) => {
    const target = String(request.headers['x-amz-target']);
    const input = JSON.parse((await readBody(request)).toString());
    const fault = await standIn.hook(target.replace('secretsmanager.', ''), input);
    if (fault === 'stalls') return;
    const failure = { status: 400, body: { __type: 'AccessDeniedException', message: 'Told to fail.' } };
    const { status, body } = fault === 'fails' ? failure : secrets.answer(target, input);
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body));
  });
  const standIn = { ...server, secrets, hook: (() => undefined) as SecretsHook };
  process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER = server.url;
  return standIn;
}
