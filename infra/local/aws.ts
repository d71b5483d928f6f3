import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { LocalSecrets } from './local-secrets.ts';
import { type LoopbackServer, readBody, serve } from './loopback-server.ts';

/** A function that can be invoked by name. */
export type InvocableFunction = (event: unknown) => Promise<unknown>;

/** The AWS services that the service uses, apart from DynamoDB: Lambda's Invoke and Secrets Manager. */
export interface LocalAws extends LoopbackServer {
  secrets: LocalSecrets;
}

/**
 * Serves them on a loopback port. Requests must be signed, as the SDK's are, so that no web page can send them. The
 * signature itself is not checked.
 * @param functions by name; may be filled later
 */
export async function startLocalAws(functions: Map<string, InvocableFunction>): Promise<LocalAws> {
  const secrets = new LocalSecrets();
  const server = await serve((request, response) => {
    answer(functions, secrets, request, response).catch((error: unknown) =>
      sendJson(response, 500, { __type: 'InternalFailure', message: String(error) }),
    );
  });
  return { ...server, secrets };
}

async function answer(
  functions: Map<string, InvocableFunction>,
  secrets: LocalSecrets,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!request.headers.authorization?.startsWith('AWS4-HMAC-SHA256 ')) {
    return sendJson(response, 403, {
      __type: 'MissingAuthenticationToken',
      message: 'The request is not signed.',
    });
  }
  const body: unknown = JSON.parse((await readBody(request)).toString() || '{}');
  const invoked = request.url?.match(/^\/2015-03-31\/functions\/([^/]+)\/invocations/)?.[1];
  if (invoked) return invoke(functions.get(decodeURIComponent(invoked)), body, response);
  const { status, body: result } = secrets.answer(String(request.headers['x-amz-target']), body);
  return sendJson(response, status, result);
}

async function invoke(
  handler: InvocableFunction | undefined,
  event: unknown,
  response: ServerResponse,
): Promise<void> {
  if (!handler) {
    return sendJson(response, 404, { __type: 'ResourceNotFoundException', message: 'Function not found' });
  }
  try {
    return sendJson(response, 200, (await handler(event)) ?? null);
  } catch (error) {
    response.setHeader('x-amz-function-error', 'Unhandled');
    return sendJson(response, 200, { errorType: 'Error', errorMessage: String(error) });
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.setHeader('content-type', 'application/x-amz-json-1.1');
  response.setHeader('x-amzn-requestid', randomUUID());
  response.writeHead(status).end(JSON.stringify(body));
}
