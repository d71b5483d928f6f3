import type { MiddlewareObj } from '@middy/core';
import type {
  APIGatewayProxyStructuredResultV2,
  APIGatewayProxyEventV2 as ApiEvent,
} from 'aws-lambda';
import { definedOnly } from '../foundation/defined-only.ts';
import { type ErrorCode, ServiceError, statuses } from '../foundation/service-error.ts';
import { logEvent, logFailure } from '../log/log.ts';
import { annotateLog } from '../log/request-fields.ts';
import { ProviderFailure } from '../providers/calls/provider-failure.ts';
import { bodyFor } from './body.ts';
import type { RunningEndpoint } from './endpoint.ts';

interface Response {
  status: number;
  /** Sent as JSON; undefined for none. */
  body?: unknown;
  headers?: Record<string, string | undefined>;
  /**
   * Seconds that it may be cached.
   * @default none (RFC 6749 section 5.1)
   */
  cacheSeconds?: number | undefined;
}

export const jsonResponse = (
  { status, body, headers, cacheSeconds }: Response,
  requestId: string,
) => ({
  statusCode: status,
  headers: definedOnly({
    'content-type': body === undefined ? undefined : 'application/json',
    'cache-control': cacheSeconds === undefined ? 'no-store' : `public, max-age=${cacheSeconds}`,
    pragma: cacheSeconds === undefined ? 'no-cache' : undefined,
    'x-request-id': requestId,
    'x-content-type-options': 'nosniff',
    // Two years (RFC 6797 section 6.1).
    'strict-transport-security': 'max-age=63072000',
    ...headers,
  }),
  body: JSON.stringify(body),
});

/**
 * The authentication scheme that would work.
 * @see RFC 6749 section 5.2, RFC 6750 section 3, RFC 9470 section 3
 */
export const challenges: Partial<Record<ErrorCode, string>> = {
  invalid_client: 'Basic realm="login app client", charset="UTF-8"',
  unauthorized: 'Basic realm="account", charset="UTF-8"',
  invalid_token: 'Bearer realm="login service", error="invalid_token"',
  insufficient_user_authentication:
    'Bearer realm="login service", error="insufficient_user_authentication"',
};

/**
 * The challenge to a request without a token, which has no error code.
 * @see RFC 6750 section 3.1
 */
const challengeWithoutError = 'Bearer realm="login service"';

/**
 * Seconds after which a client may repeat a request, unless the error says so.
 * @see RFC 9110 section 10.2.3
 */
export const retryAfterSeconds: Partial<Record<ErrorCode, number>> = {
  temporarily_unavailable: 10,
  too_many_requests: 600,
};

/** Turns errors into responses. Unexpected ones are logged; the caller gets a plain 500. */
export const renderErrors = ({
  errorEvent = 'request_refused',
  body,
}: RunningEndpoint): MiddlewareObj<ApiEvent, APIGatewayProxyStructuredResultV2> => ({
  onError: (request) => {
    const { error, event } = request;
    const { requestId } = event.requestContext;
    if (error instanceof ServiceError) {
      const fields = definedOnly({ error: error.code, reason: error.detail.reason });
      logEvent(errorEvent, fields);
      annotateLog(fields);
      const response = responseTo(error);
      const badRequest = body && bodyFor(body, event).badRequest;
      const ownForm = response.status === 400 ? badRequest?.render(error) : undefined;
      request.response = jsonResponse({ ...response, ...ownForm }, requestId);
    } else {
      request.response = jsonResponse(
        { status: 500, body: unexpected(error, requestId) },
        requestId,
      );
    }
  },
});

/** Logs an unexpected error, and makes the body of its answer, which says nothing of the cause. */
function unexpected(error: unknown, requestId: string): object {
  const reason = error instanceof ProviderFailure ? error.code : undefined;
  logFailure(reason ? 'provider_failed' : 'request_failed', error, {});
  annotateLog(definedOnly({ error: 'internal_server_error', reason }));
  const isUnreachable = reason === 'unreachable' || reason === 'timed_out';
  const error_description = isUnreachable
    ? 'The identity provider could not be reached; try again.'
    : `Something failed on our side. Please quote the request id ${requestId}.`;
  return { error: 'internal_server_error', error_description };
}

function responseTo(error: ServiceError) {
  const { code, message, detail } = error;
  const seconds = detail.retryAfterSeconds ?? retryAfterSeconds[code];
  return {
    status: statuses[code],
    body: { error: code, error_description: message, errors: detail.errors, ...detail.further },
    headers: {
      'www-authenticate': challengeTo(error),
      'retry-after': seconds?.toString(),
      'dpop-nonce': detail.proofNonce,
    },
  };
}

/** The challenge of a 401, with the parameters that say which login would be sufficient. */
function challengeTo({ code, message, detail }: ServiceError): string | undefined {
  const { challenge, reason } = detail;
  const lacksToken = code === 'invalid_token' && reason === 'credentials_missing';
  const scheme = lacksToken ? challengeWithoutError : challenges[code];
  if (scheme === undefined || challenge === undefined) return scheme;
  const parameters = Object.entries({ error_description: message, ...challenge });
  const quoted = parameters.map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return [scheme, ...quoted].join(', ');
}
