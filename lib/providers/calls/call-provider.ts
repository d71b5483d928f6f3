import { once } from 'node:events';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent, request as requestHttps } from 'node:https';
import { definedOnly } from '../../foundation/defined-only.ts';
import { logEvent } from '../../log/log.ts';
import { rejected } from './credential.ts';
import { ProviderFailure } from './provider-failure.ts';

interface ProviderCall {
  url: string;
  headers?: Record<string, string>;
  /** Posted as a form; without this or `json` the call is a GET. */
  form?: Record<string, string>;
  json?: object | undefined;
  /** The status says everything: a successful answer need not be JSON. */
  statusOnly?: boolean;
  signal: AbortSignal;
}

/** The time limit for all calls of one verification together. */
export const verificationDeadline = (): AbortSignal => AbortSignal.timeout(3_000);

/**
 * Calls an address of the settings. Follows no redirect, and reads at most 64 KiB.
 * @returns the JSON body, undefined for an answer of 4xx that has none
 * @throws ProviderFailure when there is no usable answer
 */
export async function callProvider(call: ProviderCall): Promise<{ status: number; body: unknown }> {
  const { url, statusOnly = false, signal } = call;
  const startedAt = performance.now();
  try {
    const response = await responseTo(call);
    const { statusCode: status = 0 } = response;
    const isRedirect = status >= 300 && status < 400;
    if (isRedirect || status === 429 || status >= 500) {
      response.destroy();
      if (isRedirect) throw new ProviderFailure('redirected', url);
      if (status === 429) throw new ProviderFailure('throttled', url);
      throw new ProviderFailure('unexpected_status', url, String(status));
    }
    const text = await readText(response);
    if (text === undefined) throw new ProviderFailure('answer_too_large', url);
    return { status, body: statusOnly && status < 400 ? undefined : parsed(response, text, url) };
  } catch (error) {
    if (error instanceof ProviderFailure) throw error;
    if (signal.aborted) throw new ProviderFailure('timed_out', url);
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw new ProviderFailure('unreachable', url, code);
  } finally {
    const milliseconds = Math.round(performance.now() - startedAt);
    logEvent('provider_called', { host: new URL(url).host, milliseconds });
  }
}

/**
 * Keeps the TLS sessions of providers, which the next handshakes resume, but no connection. A
 * socket may die while Lambda has frozen the instance, and a request with a code must not be sent
 * twice.
 * @see AWS Lambda developer guide, "Best practices": idle connections are purged
 */
const tlsSessions = new Agent({ keepAlive: false });

/** Sends a call once, on a connection of its own, by Node's `http`: `fetch` needs more CPU time. */
export async function responseTo({
  url,
  headers,
  form,
  json,
  signal,
}: ProviderCall): Promise<IncomingMessage> {
  const body = form ? new URLSearchParams(form).toString() : json && JSON.stringify(json);
  const type = form
    ? 'application/x-www-form-urlencoded;charset=UTF-8'
    : json && 'application/json';
  const isHttps = new URL(url).protocol === 'https:';
  const send = isHttps ? requestHttps : requestHttp;
  const request = send(url, {
    method: body === undefined ? 'GET' : 'POST',
    agent: isHttps ? tlsSessions : false,
    headers: definedOnly({
      accept: 'application/json',
      'accept-encoding': 'identity',
      // GitHub answers 403 to a request without one.
      'user-agent': 'login-service',
      'content-type': type,
      ...headers,
    }),
    signal,
  });
  // After the response has begun, its reader gets the error.
  request.on('error', () => {});
  // After an answer of 101, the request has no response, no error, and no longer heeds the signal.
  const [response] = await once(request.end(body), 'response', { signal });
  return response;
}

/**
 * Calls with a person's credential.
 * @throws ProviderFailure, ServiceError when the provider finds it too long
 */
export async function presentCredential(call: ProviderCall) {
  const answer = await callProvider(call);
  // @see RFC 9110 section 15.5, RFC 6585 section 5
  if ([413, 414, 431].includes(answer.status)) throw rejected('credential_too_long');
  return answer;
}

/**
 * The header of HTTP Basic, with user and password form-encoded.
 * @see RFC 6749 section 2.3.1
 */
export const basicAuthorization = (user: string, password: string): string => {
  const encoded = [user, password]
    .map((part) => new URLSearchParams([['', part]]).toString().slice(1))
    .join(':');
  return `Basic ${Buffer.from(encoded).toString('base64')}`;
};

/** The most bytes of an answer, also after it is unzipped. */
const maxOutputLength = 64 * 1024;

/** The text of an answer; undefined for one of more than 64 KiB. */
export async function readText(response: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    length += chunk.byteLength;
    if (length > maxOutputLength) return undefined;
    chunks.push(chunk);
  }
  let bytes = Buffer.concat(chunks);
  // Some APIs compress every answer, whatever they are asked for.
  if (response.headers['content-encoding']?.toLowerCase() === 'gzip') {
    // Not at the top: it would take two milliseconds of each cold start.
    const { gunzipSync } = await import('node:zlib');
    bytes = gunzipSync(bytes, { maxOutputLength });
  }
  return new TextDecoder().decode(bytes);
}

function parsed({ statusCode = 0, headers }: IncomingMessage, text: string, url: string): unknown {
  // The suffix is that of RFC 6839 section 3.1.
  const isJson = /^application\/([\w.+-]+\+)?json *(;|$)/i.test(headers['content-type'] ?? '');
  try {
    if (isJson) return JSON.parse(text);
  } catch {
    // Malformed JSON is treated like another content type.
  }
  if (statusCode >= 400) return undefined;
  throw new ProviderFailure('answer_not_json', url);
}
