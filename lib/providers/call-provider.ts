import { once } from 'node:events';
import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { definedOnly } from '../foundation/defined-only.ts';
import { logEvent } from '../log/log.ts';
import { rejected } from './credential.ts';
import { ProviderFailure } from './provider-failure.ts';

interface ProviderCall {
  url: string;
  headers?: Record<string, string>;
  /** Posted as a form; without this or `json` the call is a GET. */
  form?: Record<string, string>;
  json?: object;
  /** The status says everything: a successful answer need not be JSON. */
  statusOnly?: boolean;
  signal: AbortSignal;
}

/** The time limit for all calls of one verification together. */
export const verificationDeadline = (): AbortSignal => AbortSignal.timeout(3_000);

/** GitHub answers 403 to a request without one. */
const userAgent = 'login-service';

const formType = 'application/x-www-form-urlencoded;charset=UTF-8';

/**
 * One call to an address of the settings. Follows no redirect, reads at most 64 KiB, ends with the deadline.
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
      throw isRedirect
        ? new ProviderFailure('redirected', url)
        : new ProviderFailure('unexpected_status', url, String(status));
    }
    const text = await readText(response, url);
    return { status, body: statusOnly && status < 400 ? undefined : parsed(response, text, url) };
  } catch (error) {
    throw error instanceof ProviderFailure ? error : connectionFailure(error, url, signal);
  } finally {
    const milliseconds = Math.round(performance.now() - startedAt);
    logEvent('provider_called', { host: new URL(url).host, milliseconds });
  }
}

/** Sends a call by Node's `http`, at a third of the CPU time of `fetch`. */
async function responseTo({ url, headers, form, json, signal }: ProviderCall): Promise<IncomingMessage> {
  const body = form ? new URLSearchParams(form).toString() : json && JSON.stringify(json);
  const type = form ? formType : json && 'application/json';
  const send = new URL(url).protocol === 'https:' ? requestHttps : requestHttp;
  const request = send(url, {
    method: body === undefined ? 'GET' : 'POST',
    // A socket may die while Lambda has frozen the instance. A request that failed on it must not be sent again: it may
    // hold an authorization code. @see AWS Lambda developer guide, "Best practices": idle connections are purged
    agent: false,
    headers: definedOnly({
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': userAgent,
      'content-type': type,
      ...headers,
    }),
    signal,
  });
  // Once there is a response, it fails as well, and whoever reads it is told.
  request.on('error', () => {});
  // A request that is answered with 101 has neither a response nor an error, and no longer hears the signal itself.
  const [response] = await once(request.end(body), 'response', { signal });
  return response;
}

/** A call that presents a person's credential. @throws ProviderFailure, ServiceError for one that is too long for the provider */
export async function presentCredential(call: ProviderCall) {
  const answer = await callProvider(call);
  // @see RFC 9110 section 15.5, RFC 6585 section 5
  if ([413, 414, 431].includes(answer.status)) throw rejected('credential_too_long');
  return answer;
}

/** Calls with credentials in HTTP Basic, form-encoded. @see RFC 6749 section 2.3.1 */
export const basicAuthorization = (user: string, password: string): string => {
  const encoded = [user, password]
    .map((part) => new URLSearchParams([['', part]]).toString().slice(1))
    .join(':');
  return `Basic ${Buffer.from(encoded).toString('base64')}`;
};

/** The most bytes of an answer, compressed or not. */
const maxOutputLength = 64 * 1024;

async function readText(response: IncomingMessage, url: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the rest.
    if (bytes > maxOutputLength) throw new ProviderFailure('answer_too_large', url);
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  return new TextDecoder().decode(isCompressed(response) ? await unzipped(whole) : whole);
}

/** Some APIs compress every answer, whatever they are asked for. */
const isCompressed = ({ headers }: IncomingMessage): boolean =>
  headers['content-encoding']?.toLowerCase() === 'gzip';

async function unzipped(bytes: Buffer): Promise<Buffer> {
  // Only here: to load it takes two milliseconds of a cold start.
  const { gunzipSync } = await import('node:zlib');
  return gunzipSync(bytes, { maxOutputLength });
}

function parsed({ statusCode = 0, headers }: IncomingMessage, text: string, url: string): unknown {
  try {
    if (isJson(headers['content-type'] ?? '')) return JSON.parse(text);
  } catch {
    // Malformed JSON is treated like another content type.
  }
  if (statusCode >= 400) return undefined;
  throw new ProviderFailure('answer_not_json', url);
}

/** @see RFC 6839 section 3.1 for the suffix */
const isJson = (contentType: string): boolean => /^application\/([\w.+-]+\+)?json *(;|$)/i.test(contentType);

function connectionFailure(error: unknown, url: string, { aborted }: AbortSignal): ProviderFailure {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  return new ProviderFailure(aborted ? 'timed_out' : 'unreachable', url, aborted ? '' : String(code));
}
