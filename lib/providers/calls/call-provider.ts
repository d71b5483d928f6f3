import { once } from 'node:events';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent, request as requestHttps } from 'node:https';
import { definedOnly } from '../../foundation/defined-only.ts';
import { logEvent } from '../../log/log.ts';
import { isJsonType, mediaTypeOf, parseBody, readBytes } from './answer-body.ts';
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

/** An answer of a provider. */
export interface ProviderAnswer {
  status: number;
  /** The JSON, or the text of a JWT; undefined for an answer of 4xx that has neither. */
  body: unknown;
  /** The media type, such as `text/plain`; undefined for none. */
  type: string | undefined;
}

/**
 * Calls an address of the settings. Follows no redirect, and reads at most 64 KiB.
 * @throws ProviderFailure when there is no usable answer
 */
export async function callProvider(call: ProviderCall): Promise<ProviderAnswer> {
  const { url, statusOnly = false, signal } = call;
  const startedAt = performance.now();
  let type: string | undefined;
  try {
    const response = await responseTo(call);
    const { statusCode: status = 0 } = response;
    const failure = failureByStatus(response, url);
    if (failure) {
      response.destroy();
      throw failure;
    }
    type = mediaTypeOf(response);
    const bytes = await readBytes(response);
    if (typeof bytes === 'string') throw new ProviderFailure(bytes, url);
    const isRead = !statusOnly || status >= 400;
    return { status, body: isRead ? parseBody({ status, type, url }, bytes) : undefined, type };
  } catch (error) {
    if (error instanceof ProviderFailure) throw error;
    if (signal.aborted) throw new ProviderFailure('timed_out', url);
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    throw new ProviderFailure('unreachable', url, code);
  } finally {
    const milliseconds = Math.round(performance.now() - startedAt);
    // JSON of another type is accepted, and noted.
    const content_type = type === undefined || isJsonType(type) ? undefined : type;
    logEvent(
      'provider_called',
      definedOnly({ host: new URL(url).host, milliseconds, content_type }),
    );
  }
}

/** The failure that the head of an answer alone tells; undefined for none. */
function failureByStatus({ statusCode: status = 0, headers }: IncomingMessage, url: string) {
  if (status >= 300 && status < 400) return new ProviderFailure('redirected', url);
  if (status === 429) return new ProviderFailure('throttled', url);
  // GitHub limits the requests of an app by a 403, too.
  const isLimit = headers['retry-after'] !== undefined || headers['x-ratelimit-remaining'] === '0';
  if (status === 403 && isLimit) return new ProviderFailure('throttled', url);
  // The provider wants money of our app, whosever credential it is.
  if (status === 402) return new ProviderFailure('refused_our_app', url, '402');
  if (status >= 500) return new ProviderFailure('unexpected_status', url, String(status));
  return undefined;
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
export async function presentCredential(call: ProviderCall): Promise<ProviderAnswer> {
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
