import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { directInvocation } from '../../../lib/foundation/direct-invocation.ts';
import type { AnyEndpoint, ExampleRequest } from '../../../lib/http/endpoint.ts';
import type { ProviderId } from '../../../lib/providers/provider-ids.ts';
import { basic } from '../../../lib/release/smoke-test.ts';
import { eventOf } from '../../docs/event-file.ts';
import { readFunctions } from '../../endpoints.ts';
import type { Demo } from '../demo.ts';
import type { Route } from '../gateway.ts';

type ApiEvent = ReturnType<typeof eventOf>;

const bodySchema = v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.unknown()));
const resultSchema = v.object({ body: bodySchema });

/**
 * An event for each endpoint of the interface, by the name of its file, with credentials that are
 * valid for an hour.
 * @param routes call the functions, to log a person in and to register the device that the event
 *   relates to them
 */
export async function samEvents(
  demo: Demo,
  routes: readonly Route[],
): Promise<Map<string, ApiEvent>> {
  const tokenEvent = (form: Record<string, unknown>): ApiEvent =>
    event('issue-token', asClient(demo), { body: form });

  // 1. and 2. The two logins.
  const { id_token } = await newCredentials(demo, 'provider_f');
  const logIn = tokenEvent({
    grant_type: 'provider_credentials',
    provider: 'provider_f',
    id_token,
  });
  const { authorization_code } = await newCredentials(demo, 'provider_b', {
    reusable: 'true',
  });
  const logInByCode = tokenEvent({
    grant_type: 'provider_authorization_code',
    provider: 'provider_b',
    authorization_code,
  });

  // 3. The registration of a device. Another device is registered here, to be linked.
  const getAppToken = tokenEvent({ grant_type: 'client_credentials' });
  const { access_token: appToken } = await invoke(routes, getAppToken);
  const registrationOf = (token: string): ApiEvent =>
    event('register-device', `Bearer ${appToken}`, {
      body: { device: { platform: 'android', token } },
    });
  const { id: device_id } = await invoke(routes, registrationOf('sams-phone'));

  // 4. The link of a device to a person. A login hook may refuse the login: then the event has the
  //    placeholder.
  const { access_token: userToken = 'LOGIN_USER_TOKEN' } = await invoke(routes, logIn);
  const relate = event('relate-device', `Bearer ${userToken}`, { body: { device_id } });

  // 5. The search.
  const search = event('search-events', asAccount(demo), {
    path: { access_request_id: String(demo.access_request_id) },
    query: { page: '2', page_size: '1' },
  });

  return new Map([
    ['provider-credentials', logIn],
    ['authorization-code', logInByCode],
    ['search-events', search],
    ['relate-device', relate],
    ['register-device', registrationOf('sams-tablet')],
  ]);
}

const asClient = ({ login_app }: Demo): string =>
  basic(login_app.client_id, login_app.client_secret);

const asAccount = ({ account }: Demo): string => basic(account.account_id, account.account_secret);

/** Credentials of a person at a provider of the sandbox. */
async function newCredentials(
  { sandbox_url }: Demo,
  provider: ProviderId,
  more: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const query = new URLSearchParams({ subject: 'sam', ...more });
  const response = await fetch(`${sandbox_url}/${provider}/credentials?${query}`);
  return v.parse(bodySchema, await response.text());
}

/** An event for a function that is invoked directly, without API Gateway. */
function event(key: string, authorization: string, request: ExampleRequest): ApiEvent {
  const { requestContext, ...rest } = eventOf(endpointOf(key), request, { authorization });
  return { ...rest, requestContext: { ...requestContext, apiId: directInvocation } };
}

function endpointOf(key: string): AnyEndpoint {
  const endpoint = readFunctions().endpoints.get(key);
  if (!endpoint) throw new Error(`There is no functions/${key}.ts.`);
  return endpoint;
}

/** The answer of the function that an event is for. */
async function invoke(routes: readonly Route[], sent: ApiEvent): Promise<Record<string, unknown>> {
  const route = routes.find(({ endpoint }) => endpoint.route === sent.routeKey);
  const requestId = randomUUID();
  const request = {
    pathParameters: undefined,
    body: undefined,
    ...sent,
    requestContext: { ...sent.requestContext, requestId },
  };
  const context = { awsRequestId: requestId, getRemainingTimeInMillis: () => 60_000 };
  const result = await route?.handler(request, context);
  return v.parse(resultSchema, result).body;
}
