import * as v from 'valibot';
import type { Demo } from '../../infra/local/demo.ts';

/** Sends one request: to the demo's API, or to another base address. */
export type Send = (base?: string) => Promise<Response>;

const tokensSchema = v.object({ access_token: v.string(), refresh_token: v.optional(v.string(), '') });
const deviceSchema = v.object({ id: v.string() });
const credentialsSchema = v.record(v.string(), v.string());

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** The requests that apps and back offices send, with the demo's credentials. */
export function demoRequests({ base_url, sandbox_url, login_app, account, access_request_id }: Demo) {
  const request =
    (path: string, init: RequestInit = {}): Send =>
    (base = base_url) =>
      fetch(`${base}${path}`, init);
  const form = (path: string, parameters: Record<string, string>, client = login_app): Send =>
    request(path, {
      method: 'POST',
      headers: { authorization: basic(client.client_id, client.client_secret) },
      body: new URLSearchParams(parameters),
    });
  const json = (path: string, authorization: string, body: unknown): Send =>
    request(path, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const token = (parameters: Record<string, string>, client = login_app) =>
    form('/v2/marketing/oauth/token', parameters, client);
  const backOffice = basic(account.account_id, account.account_secret);
  const riskDesk = { actor_type: 'custom', actor_id: 'risk-desk' };
  const accessRequest = `/v1/rbac/access_requests/${access_request_id}`;
  const devices = '/v2/marketing/login/user/push_notifications/devices';

  return {
    clientCredentials: (): Send => token({ grant_type: 'client_credentials' }),
    refresh: (refresh_token: string): Send => token({ grant_type: 'refresh_token', refresh_token }),
    /** A login with a credential that the sandbox has just issued. */
    logIn: async (provider: string, subject: string, client = login_app): Promise<Send> => {
      const url = `${sandbox_url}/${provider}/credentials?subject=${subject}`;
      const { authorization_code: _, ...issued } = await read(credentialsSchema, fetch(url));
      return token({ grant_type: 'provider_credentials', provider, ...issued }, client);
    },
    introspect: (presented: string): Send => form('/v2/marketing/oauth/introspect', { token: presented }),
    keys: (): Send => request('/v2/marketing/oauth/jwks'),
    register: (appToken: string, pushToken: string): Send =>
      json('/v2/marketing/push_notifications/devices', `Bearer ${appToken}`, {
        device: { platform: 'android', token: pushToken },
      }),
    relate: (userToken: string, device_id: string): Send =>
      json(devices, `Bearer ${userToken}`, { device_id }),
    link: (userToken: string, provider: string, access_token: string): Send =>
      request('/v2/marketing/login/user/identities', {
        method: 'POST',
        headers: { authorization: `Bearer ${userToken}` },
        body: new URLSearchParams({ provider, access_token }),
      }),
    listDevices: (userToken: string): Send =>
      request(devices, { headers: { authorization: `Bearer ${userToken}` } }),
    createAccessRequest: (): Send => json('/v1/rbac/access_requests', backOffice, {}),
    addComment: (comment: string): Send =>
      json(`${accessRequest}/comments`, backOffice, { ...riskDesk, comment }),
    addReview: (status: string, comment: string): Send =>
      json(`${accessRequest}/reviews`, backOffice, { ...riskDesk, status, comment }),
    search: (): Send => request(`${accessRequest}/events`, { headers: { authorization: backOffice } }),
  };
}

export const readTokens = (response: Promise<Response>) => read(tokensSchema, response);
export const readDevice = (response: Promise<Response>) => read(deviceSchema, response);

const read = async <Schema extends v.GenericSchema>(
  schema: Schema,
  response: Promise<Response>,
): Promise<v.InferOutput<Schema>> => v.parse(schema, await (await response).json());
