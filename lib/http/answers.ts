import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyStructuredResultV2, APIGatewayProxyEventV2 as ApiEvent } from 'aws-lambda';
import { definedOnly } from '../foundation/defined-only.ts';
import { type ErrorCode, ServiceError, statuses } from '../foundation/service-error.ts';
import { logEvent, logFailure } from '../log/log.ts';
import { annotateLog } from '../log/request-fields.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import { bodyFor } from './body.ts';
import type { AnyEndpoint } from './endpoint.ts';

/** An answer as it is sent. */
interface Response {
  status: number;
  /** Becomes JSON; undefined leaves the body empty. */
  body?: unknown;
  headers?: Record<string, string | undefined>;
  /** Seconds for which it may be cached. @default not at all (RFC 6749 section 5.1) */
  cacheSeconds?: number | undefined;
}

export const jsonResponse = (
  { status, body, headers, cacheSeconds }: Response,
  requestId: string,
): APIGatewayProxyStructuredResultV2 => ({
  statusCode: status,
  headers: definedOnly({
    'content-type': body === undefined ? undefined : 'application/json',
    'cache-control': cacheSeconds === undefined ? 'no-store' : `public, max-age=${cacheSeconds}`,
    pragma: cacheSeconds === undefined ? 'no-cache' : undefined,
    'x-request-id': requestId,
    // Browsers guess no type, and leave TLS for no plain HTTP for two years (RFC 6797 section 6.1).
    'x-content-type-options': 'nosniff',
    'strict-transport-security': 'max-age=63072000',
    ...headers,
  }),
  body: JSON.stringify(body),
});

/** The authentication scheme that would work. @see RFC 6749 section 5.2, RFC 6750 section 3, RFC 9470 section 3 */
export const challenges: Partial<Record<ErrorCode, string>> = {
  invalid_client: 'Basic realm="login app client", charset="UTF-8"',
  unauthorized: 'Basic realm="account", charset="UTF-8"',
  invalid_token: 'Bearer realm="login service", error="invalid_token"',
  insufficient_user_authentication: 'Bearer realm="login service", error="insufficient_user_authentication"',
};

/** The challenge to a request without a token, which has no error code. @see RFC 6750 section 3.1 */
const challengeWithoutError = 'Bearer realm="login service"';

/** Seconds after which a client may send a request again, unless the error knows better. @see RFC 9110 section 10.2.3 */
export const retryAfterSeconds: Partial<Record<ErrorCode, number>> = {
  temporarily_unavailable: 10,
  too_many_requests: 600,
};

/** Turns errors into responses. Unexpected ones are logged; a plain 500 only says whether the provider could not be reached. */
export const renderErrors = ({
  errorEvent = 'request_refused',
  body,
}: AnyEndpoint): MiddlewareObj<ApiEvent, APIGatewayProxyStructuredResultV2> => ({
  onError: (request) => {
    const { requestId } = request.event.requestContext;
    const { error } = request;
    if (error instanceof ServiceError) {
      const fields = definedOnly({ error: error.code, reason: error.detail.reason });
      logEvent(errorEvent, fields);
      annotateLog(fields);
      const response = responseTo(error);
      const own = response.status === 400 && body && bodyFor(body, request.event).badRequest?.render(error);
      request.response = jsonResponse({ ...response, ...own }, requestId);
    } else {
      const fault = error instanceof ProviderFailure ? error.code : undefined;
      logFailure(fault ? 'provider_failed' : 'request_failed', error, {});
      annotateLog(definedOnly({ error: 'internal_server_error', reason: fault }));
      const isUnreachable = fault === 'unreachable' || fault === 'timed_out';
      const description = isUnreachable ? providerUnreachable : unknownError(requestId);
      const content = { error: 'internal_server_error', error_description: description };
      request.response = jsonResponse({ status: 500, body: content }, requestId);
    }
  },
});

function responseTo(error: ServiceError) {
  const { code, message, detail } = error;
  const { errors, reason } = detail;
  const lacksToken = code === 'invalid_token' && reason === 'credentials_missing';
  const scheme = lacksToken ? challengeWithoutError : challenges[code];
  const needed = detail.challenge && Object.entries({ error_description: message, ...detail.challenge });
  const told = needed?.map(([name, value]) => `, ${name}=${JSON.stringify(value)}`) ?? [];
  const challenge = scheme && [scheme, ...told].join('');
  const retryAfter = detail.retryAfterSeconds ?? retryAfterSeconds[code];
  return {
    status: statuses[code],
    body: { error: code, error_description: message, errors },
    headers: {
      'www-authenticate': challenge,
      'retry-after': retryAfter?.toString(),
      'dpop-nonce': detail.proofNonce,
    },
  };
}

const unknownError = (requestId: string): string =>
  `Something failed on our side. Please quote the request id ${requestId}.`;

const providerUnreachable = 'The identity provider could not be reached; try again.';
