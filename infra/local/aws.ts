import { createHash, randomBytes, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EventBridgeEvent } from 'aws-lambda';
import * as v from 'valibot';
import { commandHeader } from '../../lib/operator/operator-call.ts';
import { type AwsAnswer, localSecrets, rejected } from './local-secrets.ts';
import { type ListenOptions, readBody, serve } from './loopback-server.ts';
import { answerIdentity, isSigned, localAccount } from './signature.ts';

/**
 * A function that can be invoked by name, with the part of Lambda's context that the service reads.
 */
export type InvocableFunction = (
  event: unknown,
  context: { awsRequestId: string; invokedFunctionArn?: string },
) => Promise<unknown>;

/** A published event as EventBridge delivers it. Its time is to the second. */
export type Envelope = EventBridgeEvent<string, Record<string, unknown>>;

/** Receivers of published events, and of messages to the dead-letter queue, in JSON. */
export interface Bus {
  takeEvent?(event: Envelope): void;
  takeDeadLetter?(message: string): void;
}

export type LocalAws = Awaited<ReturnType<typeof startLocalAws>>;

interface LocalAwsOptions extends Bus, Pick<ListenOptions, 'print'> {
  /** Keeps the secrets; without it they end with the process. */
  secretsFile?: string | undefined;
}

/**
 * Serves Lambda's Invoke, Secrets Manager, EventBridge, SQS and STS on a loopback port, for
 * requests signed with its own key.
 */
export async function startLocalAws(
  functions: ReadonlyMap<string, InvocableFunction>,
  { secretsFile, print, ...bus }: LocalAwsOptions = {},
) {
  const secrets = localSecrets(secretsFile);
  const secret_access_key = randomBytes(32).toString('base64url');
  const answer = async (request: IncomingMessage, requestId: string): Promise<AwsAnswer> => {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
    if (searchParams.get('Action') === 'GetCallerIdentity') {
      const xml = await answerIdentity(
        searchParams,
        request.headers[commandHeader],
        secret_access_key,
      );
      return xml === undefined ? unsigned : { status: 200, xml };
    }
    if (!(await isSigned(request, secret_access_key))) return unsigned;
    const body: unknown = JSON.parse((await readBody(request)).toString() || '{}');
    const [, name] = request.url?.match(/^\/2015-03-31\/functions\/([^/]+)\/invocations/) ?? [];
    if (name) {
      const isDryRun = request.headers['x-amz-invocation-type'] === 'DryRun';
      return invoke(functions, decodeURIComponent(name), body, requestId, isDryRun);
    }
    const target = String(request.headers['x-amz-target']);
    if (target === 'AWSEvents.PutEvents') return { status: 200, body: putEvents(bus, body) };
    if (target === 'AmazonSQS.SendMessage') return { status: 200, body: sendMessage(bus, body) };
    return secrets.answer(target, body);
  };
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    const requestId = randomUUID();
    const { status, headers, body, xml } = await answer(request, requestId).catch((error) =>
      rejected('InternalFailure', String(error), 500),
    );
    const usual = { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': requestId };
    response.writeHead(status, { ...usual, ...headers }).end(xml ?? JSON.stringify(body));
  };
  const server = await serve(listener, 0, { print });
  return { ...server, endpoint: { url: server.url, secret_access_key }, secrets };
}

const unsigned = rejected('InvalidSignatureException', 'The key is not that of this stack.', 403);

async function invoke(
  functions: ReadonlyMap<string, InvocableFunction>,
  name: string,
  event: unknown,
  awsRequestId: string,
  isDryRun: boolean,
): Promise<AwsAnswer> {
  const handler = functions.get(name);
  if (!handler) {
    const type = 'ResourceNotFoundException';
    const missing = rejected(type, 'Function not found', 404);
    return { ...missing, headers: { 'x-amzn-errortype': type } };
  }
  if (isDryRun) return { status: 204 };
  const invokedFunctionArn = `arn:aws:lambda:us-east-1:${localAccount}:function:${name}`;
  try {
    return {
      status: 200,
      body: (await handler(event, { awsRequestId, invokedFunctionArn })) ?? null,
    };
  } catch (error) {
    const body = { errorType: 'Error', errorMessage: String(error) };
    return { status: 200, headers: { 'x-amz-function-error': 'Unhandled' }, body };
  }
}

const putEventsSchema = v.object({
  Entries: v.array(
    v.object({ Source: v.string(), DetailType: v.string(), Time: v.number(), Detail: v.string() }),
  ),
});

function putEvents(bus: Bus, body: unknown) {
  const { Entries } = v.parse(putEventsSchema, body);
  const ids = Entries.map(({ Source, DetailType, Time, Detail }) => {
    const id = randomUUID();
    bus.takeEvent?.({
      version: '0',
      id,
      'detail-type': DetailType,
      source: Source,
      account: localAccount,
      time: new Date(Time * 1000).toISOString().replace(/\.\d+/, ''),
      region: 'us-east-1',
      resources: [],
      detail: JSON.parse(Detail),
    });
    return { EventId: id };
  });
  return { FailedEntryCount: 0, Entries: ids };
}

/** Answers SQS's SendMessage to the dead-letter queue. */
export function sendMessage({ takeDeadLetter }: Bus, body: unknown) {
  const { MessageBody } = v.parse(v.object({ MessageBody: v.string() }), body);
  takeDeadLetter?.(MessageBody);
  // The SDK compares it.
  return {
    MessageId: randomUUID(),
    MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
  };
}
