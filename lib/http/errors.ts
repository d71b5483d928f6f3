import { logEvent, logFailure } from '../log.ts';
import { ProviderFailure } from '../providers/provider-failure.ts';
import { Refusal, type RefusalCode } from '../refusal.ts';
import { routes } from '../routes.ts';
import type { Refuse } from '../validation.ts';
import { type Answer, jsonResponse } from './answers.ts';
import type { Step } from './endpoint.ts';
import { UnparsableBody } from './unparsable-body.ts';

/** What a refusal is in HTTP. */
const statuses: Record<RefusalCode, number> = {
  invalid_request: 400,
  invalid_grant: 400,
  unsupported_grant_type: 400,
  unsupported_token_type: 400,
  invalid_client: 401,
  invalid_token: 401,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  unprocessable_entity: 422,
  temporarily_unavailable: 503,
};

/**
 * The authentication scheme that would work, for the refusals that ask for one.
 * @see RFC 6749 section 5.2, RFC 6750 section 3
 */
const challenges: Partial<Record<RefusalCode, string>> = {
  invalid_client: 'Basic realm="login app client", charset="UTF-8"',
  unauthorized: 'Basic realm="account", charset="UTF-8"',
  invalid_token: 'Bearer realm="login service", error="invalid_token"',
};

/** The one place that turns errors into responses. What is no refusal is logged, and leaves telling nothing. */
export const renderErrors = (refuse: Refuse): Step => ({
  onError: (request) => {
    const { requestId } = request.event.requestContext;
    const error = unreadableBody(request.error, refuse) ?? request.error;
    if (error instanceof Refusal) {
      logEvent(refusalEvent(request.event.requestContext.routeKey), {
        error: error.code,
        reason: error.reason,
      });
      request.response = jsonResponse(refusalAnswer(error), requestId);
    } else {
      logFailure(error instanceof ProviderFailure ? 'provider_failed' : 'request_failed', error);
      request.response = jsonResponse(unknownErrorAnswer(requestId), requestId);
    }
  },
});

const tokenRoute = `${routes['issue-token'].method} ${routes['issue-token'].path}`;
const refusalEvent = (routeKey: string) => (routeKey === tokenRoute ? 'token_refused' : 'request_refused');

function refusalAnswer({ code, message, errors }: Refusal): Answer {
  const challenge = challenges[code];
  return {
    status: statuses[code],
    body: { error: code, error_description: message, ...(errors && { errors }) },
    ...(challenge && { headers: { 'www-authenticate': challenge } }),
  };
}

const unknownErrorAnswer = (requestId: string): Answer => ({
  status: 500,
  body: {
    error: 'internal_server_error',
    error_description: `Something failed on our side. Please quote the request id ${requestId}.`,
  },
});

/** What each body parser wants; its own errors quote the body, so they are told in other words. */
const wantedBodies = new Map<unknown, string>([
  ['@middy/http-json-body-parser', 'The body must be JSON, with the content type application/json.'],
  [
    '@middy/http-urlencode-body-parser',
    'The body must be a form, with the content type application/x-www-form-urlencoded.',
  ],
]);

function unreadableBody(error: unknown, refuse: Refuse): Refusal | undefined {
  if (error instanceof UnparsableBody) return refuse([{ field: '', message: error.message }]);
  if (!(error instanceof Error && error.cause instanceof Object && 'package' in error.cause))
    return undefined;
  const wanted = wantedBodies.get(error.cause.package);
  return wanted === undefined ? undefined : refuse([{ field: '', message: wanted }]);
}
