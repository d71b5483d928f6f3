import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as v from 'valibot';
import { LocalSecrets } from './local-secrets.ts';
import { readBody, serve } from './loopback-server.ts';
import { answerIdentity, isSigned, localAccount } from './signature.ts';

/** A function that can be invoked by name; its context is what the service reads of Lambda's. */
export type InvocableFunction = (
  event: unknown,
  context: { awsRequestId: string; invokedFunctionArn?: string },
) => Promise<unknown>;

export type LocalAws = Awaited<ReturnType<typeof startLocalAws>>;

/**
 * Serves the AWS services that the service uses, apart from DynamoDB, on a loopback port: Lambda's Invoke, Secrets Manager,
 * EventBridge, SQS and STS. It has an access key of its own, with which requests must be signed.
 * @param functions by name; may be filled later
 * @param options.bus receives what is published
 * @param options.secretsFile keeps the secrets; without one they end with the process
 */
export async function startLocalAws(
  functions: Map<string, InvocableFunction>,
  { bus = noBus, secretsFile }: { bus?: Bus | undefined; secretsFile?: string | undefined } = {},
) {
  const secrets = new LocalSecrets(secretsFile);
  const secret_access_key = randomBytes(32).toString('base64url');
  const server = await serve((request, response) => {
    answer({ functions, secrets, bus, secret_access_key }, request, response).catch((error: unknown) =>
      sendJson(response, 500, { __type: 'InternalFailure', message: String(error) }),
    );
  });
  return { ...server, endpoint: { url: server.url, secret_access_key }, secrets };
}

interface Parts {
  functions: Map<string, InvocableFunction>;
  secrets: LocalSecrets;
  bus: Bus;
  secret_access_key: string;
}

const noBus: Bus = { takeEvent: () => {}, takeDeadLetter: () => {} };

async function answer(
  { functions, secrets, bus, secret_access_key }: Parts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  if (url.searchParams.get('Action') === 'GetCallerIdentity') {
    const { status, body } = await answerIdentity(url.searchParams, request.headers, secret_access_key);
    response.writeHead(status, { 'content-type': 'text/xml' }).end(body);
    return;
  }
  if (!(await isSigned(request, secret_access_key))) {
    const message = 'The request is not signed with the access key of this stack.';
    return sendJson(response, 403, { __type: 'InvalidSignatureException', message });
  }
  const body: unknown = JSON.parse((await readBody(request)).toString() || '{}');
  const [, invoked] = url.pathname.match(/^\/2015-03-31\/functions\/([^/]+)\/invocations/) ?? [];
  if (invoked) return invoke(functions, decodeURIComponent(invoked), body, response);
  const target = String(request.headers['x-amz-target']);
  if (target === 'AWSEvents.PutEvents') return sendJson(response, 200, putEvents(bus, body));
  if (target === 'AmazonSQS.SendMessage') return sendJson(response, 200, sendMessage(bus, body));
  const { status, body: result } = secrets.answer(target, body);
  return sendJson(response, status, result);
}

async function invoke(
  functions: Parts['functions'],
  name: string,
  event: unknown,
  response: ServerResponse,
): Promise<void> {
  const handler = functions.get(name);
  if (!handler)
    return sendJson(response, 404, { __type: 'ResourceNotFoundException', message: 'Function not found' });
  const awsRequestId = randomUUID();
  response.setHeader('x-amzn-requestid', awsRequestId);
  const invokedFunctionArn = `arn:aws:lambda:us-east-1:${localAccount}:function:${name}`;
  try {
    return sendJson(response, 200, (await handler(event, { awsRequestId, invokedFunctionArn })) ?? null);
  } catch (error) {
    response.setHeader('x-amz-function-error', 'Unhandled');
    return sendJson(response, 200, { errorType: 'Error', errorMessage: String(error) });
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.setHeader('content-type', 'application/x-amz-json-1.1');
  if (!response.hasHeader('x-amzn-requestid')) response.setHeader('x-amzn-requestid', randomUUID());
  response.writeHead(status).end(JSON.stringify(body));
}

/** A published event as EventBridge delivers it. @see Amazon EventBridge events reference, "AWS service event metadata" */
export interface Envelope {
  version: '0';
  id: string;
  'detail-type': string;
  source: string;
  account: string;
  /** To the second: `2026-01-31T08:00:00Z`. */
  time: string;
  region: string;
  resources: string[];
  detail: Record<string, unknown>;
}

/** Receiver of everything that is published. */
export interface Bus {
  takeEvent(event: Envelope): void;
  /** Takes a message to the dead-letter queue, in JSON. */
  takeDeadLetter(message: string): void;
}

const requestSchema = v.object({
  Entries: v.array(
    v.object({ Source: v.string(), DetailType: v.string(), Time: v.number(), Detail: v.string() }),
  ),
});

/** Answers EventBridge's PutEvents: the bus takes everything. */
function putEvents(bus: Bus, body: unknown) {
  const { Entries } = v.parse(requestSchema, body);
  const events = Entries.map(
    ({ Source, DetailType, Time, Detail }): Envelope => ({
      version: '0',
      id: randomUUID(),
      'detail-type': DetailType,
      source: Source,
      account: localAccount,
      time: new Date(Time * 1000).toISOString().replace(/\.\d+/, ''),
      region: 'us-east-1',
      resources: [],
      detail: JSON.parse(Detail),
    }),
  );
  for (const event of events) bus.takeEvent(event);
  return { FailedEntryCount: 0, Entries: events.map(({ id }) => ({ EventId: id })) };
}

const letterSchema = v.object({ MessageBody: v.string() });

/** Answers SQS's SendMessage to the dead-letter queue. */
export function sendMessage({ takeDeadLetter }: Pick<Bus, 'takeDeadLetter'>, body: unknown) {
  const { MessageBody } = v.parse(letterSchema, body);
  takeDeadLetter(MessageBody);
  // The SDK compares it.
  return { MessageId: randomUUID(), MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex') };
}
