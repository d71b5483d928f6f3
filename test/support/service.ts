import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Demo } from '../../infra/local/demo.ts';
import type { FunctionTarget } from '../../infra/operator/call/invoke-function.ts';
import { callOperator, documentedFetch, invokeFunction } from './loaded-once.ts';
import { noteSecrets } from './secrets-seen.ts';
import { followService } from './start-service.ts';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever came
  body: any;
  text: string;
}

/** What the tests know of a service: what its clients know. */
export type Service = ReturnType<typeof serviceOf>;

const directory = (): string => {
  const { SERVICE_DIR } = process.env;
  if (!SERVICE_DIR) throw new Error('SERVICE_DIR is not set; jest sets it before the tests.');
  return SERVICE_DIR;
};

/** The service that all black-box tests share. */
export const sharedService = (): Service =>
  serviceOf(JSON.parse(readFileSync(join(directory(), 'demo.json'), 'utf8')), directory());

/** What that service writes from now on, for all test files that use it. */
export const sharedLog = () => followService(directory());

/** Seconds since 1970. */
export const now = () => Math.floor(Date.now() / 1000);

let made = 0;
/** A name that no other test uses. */
export const unique = (name: string): string => `${name}-${process.pid}-${Date.now()}-${++made}`;

const devices = '/v2/marketing/login/user/push_notifications/devices';
const accessRequests = '/v1/rbac/access_requests';

/**
 * @param send sends each request.
 * @default holds its response against the API document
 */
export function serviceOf(demo: Demo, directory: string, send = documentedFetch) {
  const call = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    noteSecrets(directory, sentBy(init));
    const response = await send(`${demo.base_url}${path}`, init);
    const text = await response.text();
    const answer = {
      status: response.status,
      headers: response.headers,
      text,
      body: text ? JSON.parse(text) : undefined,
    };
    noteSecrets(directory, answer.body);
    return answer;
  };
  const credentials = async (
    provider: string,
    query: Record<string, string>,
  ): Promise<Record<string, string>> => {
    const url = `${demo.sandbox_url}/${provider}/credentials?${new URLSearchParams(query)}`;
    const found = (await (await fetch(url)).json()) as Record<string, string>;
    noteSecrets(directory, found);
    return found;
  };
  /**
   * The form of a login with what the sandbox issues, to a person of its own unless the query names
   * a subject.
   */
  const loginForm = async (
    provider: string,
    query: Record<string, string> = {},
    grant_type = 'provider_credentials',
  ): Promise<Record<string, string>> => {
    const subject = unique('person');
    const { authorization_code = '', ...fields } = await credentials(provider, {
      subject,
      ...query,
    });
    const isCode = grant_type === 'provider_authorization_code';
    return { grant_type, provider, ...(isCode ? { authorization_code } : fields) };
  };
  type Form = Record<string, string> | [string, string][];
  /** Sends a form; entries may repeat. */
  const form = (
    path: string,
    parameters: Form,
    headers: Record<string, string> = {},
  ): Promise<Answer> =>
    call(path, { method: 'POST', headers, body: new URLSearchParams(parameters) });
  const token = (parameters: Form, client = demo.login_app): Promise<Answer> =>
    form('/v2/marketing/oauth/token', parameters, asClient(client));
  /** Asks about a token, or ends its session. */
  const withToken =
    (action: 'introspect' | 'revoke') =>
    (token: string, client = demo.login_app): Promise<Answer> =>
      form(`/v2/marketing/oauth/${action}`, { token }, asClient(client));
  const json = (
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> =>
    call(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  const operate = async (noun: string, verb: string, flags: Record<string, unknown>) => {
    noteSecrets(directory, flags);
    const result = await callOperator(operatorOf(directory), `${noun} ${verb}`, flags);
    noteSecrets(directory, result);
    return result;
  };
  return {
    demo,
    call,
    json,
    form,
    token,
    credentials,
    loginForm,
    logIn: async (
      subject: string,
      provider = 'provider_f',
      client = demo.login_app,
    ): Promise<Answer> => token(await loginForm(provider, { subject }), client),
    /**
     * A login at provider_f.
     * @param more parameters
     */
    byIdToken: (
      id_token: string,
      client = demo.login_app,
      more: Record<string, string> = {},
    ): Promise<Answer> =>
      token(
        { grant_type: 'provider_credentials', provider: 'provider_f', id_token, ...more },
        client,
      ),
    loginAppToken: async (client = demo.login_app): Promise<string> =>
      (await token({ grant_type: 'client_credentials' }, client)).body.access_token,
    refresh: (refresh_token: string, client = demo.login_app): Promise<Answer> =>
      token({ grant_type: 'refresh_token', refresh_token }, client),
    introspect: withToken('introspect'),
    revoke: withToken('revoke'),
    register: (device: unknown, token: string): Promise<Answer> =>
      json(
        '/v2/marketing/push_notifications/devices',
        { device },
        { authorization: `Bearer ${token}` },
      ),
    relate: (device_id: unknown, token: string): Promise<Answer> =>
      json(devices, { device_id }, { authentication: `Bearer ${token}` }),
    listDevices: (token: string): Promise<Answer> =>
      call(devices, { headers: { authentication: `Bearer ${token}` } }),
    endRelation: (device_id: string, token: string): Promise<Answer> =>
      call(`${devices}/${device_id}`, {
        method: 'DELETE',
        headers: { authentication: `Bearer ${token}` },
      }),
    /**
     * The devices to send to.
     * @param query as in `shard=0`
     */
    recipients: (query: string, client = demo.login_app): Promise<Answer> =>
      call(`/v2/marketing/push_notifications/recipients?${query}`, { headers: asClient(client) }),
    search: (
      query = '',
      {
        id = demo.access_request_id as number | string,
        path = 'events',
        account = demo.account,
      } = {},
    ) => call(`${accessRequests}/${id}/${path}${query}`, { headers: asAccount(account) }),
    /** @param body absent, as a client of 1.0.0 sends it, unless it is given */
    createAccessRequest: ({
      account = demo.account,
      headers = {} as Record<string, string>,
      body = undefined as unknown,
    } = {}) => {
      const sent = { ...asAccount(account), ...headers };
      if (body !== undefined) return json(accessRequests, body, sent);
      return call(accessRequests, { method: 'POST', headers: sent });
    },
    /**
     * The access requests of an account.
     * @param query as in `?page=2`, or an id as in `/7`
     */
    accessRequests: (query = '', account = demo.account): Promise<Answer> =>
      call(`${accessRequests}${query}`, { headers: asAccount(account) }),
    addEvent: (
      path: 'comments' | 'reviews',
      body: unknown,
      {
        id = demo.access_request_id as number | string,
        account = demo.account,
        headers = {} as Record<string, string>,
      } = {},
    ): Promise<Answer> =>
      json(`${accessRequests}/${id}/${path}`, body, { ...asAccount(account), ...headers }),
    /** An operator command; its result, or an exception with its error line. */
    operate,
    /** Does at once what the service does every minute: it finishes what was interrupted. */
    runSchedule: () => invokeFunction({ ...operatorOf(directory), name: 'finish-deletions' }, {}),
    setProvider: (
      { login_app_id }: { login_app_id: unknown },
      provider: string,
      settings: unknown,
    ) => operate('providers', 'set', { 'login-app': login_app_id, provider, settings }),
  };
}

/** What a request sent: the fields of its form or JSON body. */
function sentBy({ body }: RequestInit): unknown {
  if (body instanceof URLSearchParams) return Object.fromEntries(body);
  try {
    return typeof body === 'string' ? JSON.parse(body) : undefined;
  } catch {
    return undefined;
  }
}

/** The headers by which a client authenticates. */
export const asClient = ({
  client_id,
  client_secret,
}: Omit<Demo['login_app'], 'login_app_id'>) => ({
  authorization: basic(client_id, client_secret),
});

export const asAccount = ({ account_id, account_secret }: Demo['account']) => ({
  authorization: basic(account_id, account_secret),
});

export const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** The operator function of the stack that a folder tells of. */
export function operatorOf(directory: string): FunctionTarget {
  const { aws_endpoint, operator_function = 'operator' } = JSON.parse(
    readFileSync(join(directory, 'stack.json'), 'utf8'),
  );
  // A stack of version 1.0.0 or older takes any access key.
  const old = { url: aws_endpoint, secret_access_key: 'local' };
  return {
    name: operator_function,
    endpoint: typeof aws_endpoint === 'string' ? old : aws_endpoint,
  };
}
