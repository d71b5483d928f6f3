import { decodeJwt } from 'jose';
import * as v from 'valibot';
import { readBody, sendJson } from '../loopback-server.ts';
import { addressSchema, epochSeconds, post, type SandboxProvider } from './sandbox-provider.ts';

const streamSchemaFor = (stackUrls: readonly string[]) =>
  v.pipe(
    v.string(),
    v.parseJson(),
    v.object({
      delivery: v.object({ url: addressSchema(stackUrls) }),
      events_requested: v.array(v.string()),
    }),
  );

/**
 * Google's API for security events, but for its signatures.
 * @see https://developers.google.com/identity/protocols/risc
 */
export function createRiscApi(
  { notify }: SandboxProvider,
  stackUrls: readonly string[],
): Pick<SandboxProvider, 'answer'> {
  const streamSchema = streamSchemaFor(stackUrls);
  let stream: v.InferOutput<typeof streamSchema> | undefined;
  return {
    async answer(path, request, response) {
      const refuse = (code: number, message: string) =>
        sendJson(response, code, { error: { code, message } });
      if (!isServiceAccount(request.headers.authorization))
        return refuse(401, 'Invalid credentials.');
      if (path === '/v1beta/stream:update') {
        stream = v.parse(streamSchema, (await readBody(request)).toString());
        return sendJson(response, 200, {});
      }
      if (!stream) return refuse(404, 'There is no stream.');
      if (path === '/v1beta/stream') return sendJson(response, 200, stream);
      if (path === '/v1beta/stream/status') return sendJson(response, 200, { status: 'enabled' });
      if (path !== '/v1beta/stream:verify') return refuse(404, 'There is no such method.');
      const to = stream.delivery.url;
      const event = await notify?.({ to, event: 'verification', subject: 'nobody' });
      if (event) await post(to, event);
      return sendJson(response, 200, {});
    },
  };
}

const audience = 'https://risc.googleapis.com/google.identity.risc.v1beta.RiscManagementService';

function isServiceAccount(authorization = ''): boolean {
  try {
    const { iss, sub, aud, exp = 0 } = decodeJwt(authorization.replace(/^Bearer /, ''));
    return iss === sub && aud === audience && exp > epochSeconds();
  } catch {
    return false;
  }
}
