import * as v from 'valibot';
import type { Demo } from '../local/demo.ts';
import type { Cost, Meter } from './measure.ts';
import { assumptions } from './prices.ts';

/** The requests that are measured, in the words of the page. */
interface MeasuredRequest {
  name: string;
  cost: Cost;
  /** Milliseconds that it waits for a provider. */
  waiting: number;
}

export type MeasuredRequests = Record<
  'login' | 'unread' | 'called' | 'refresh' | 'registration' | 'relation' | 'search' | 'unreadAccount',
  MeasuredRequest
>;

const basic = (user: string, password: string): string =>
  `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;

/** Sends each of the requests once, after what comes before it, and measures it. */
export async function measureRequests(meter: Meter, demo: Demo): Promise<MeasuredRequests> {
  const { base_url, sandbox_url, login_app, account, access_request_id } = demo;
  const token = (form: Record<string, string>, client = login_app) =>
    fetch(`${base_url}/v2/marketing/oauth/token`, {
      method: 'POST',
      headers: { authorization: basic(client.client_id, client.client_secret) },
      body: new URLSearchParams(form),
    });
  const post = (path: string, authorization: string, body: unknown) =>
    fetch(`${base_url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${authorization}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const search = () =>
    fetch(`${base_url}/v1/rbac/access_requests/${access_request_id}/events`, {
      headers: { authorization: basic(account.account_id, account.account_secret) },
    });
  const logIn = async (provider: string, subject: string, client = login_app) => {
    const url = `${sandbox_url}/${provider}/credentials?subject=${subject}`;
    const { authorization_code: _, ...form } = await read(credentials, fetch(url));
    return () => token({ grant_type: 'provider_credentials', provider, ...form }, client);
  };
  const registration = (app: string, push: string) => () =>
    post('/v2/marketing/push_notifications/devices', app, { device: { platform: 'android', token: push } });

  // The issuer's keys are known to a warm function, and so is the Login App.
  const { access_token, refresh_token } = await read(tokens, (await logIn('provider_f', 'first'))());
  const app = await read(tokens, token({ grant_type: 'client_credentials' }));
  const { id } = await read(device, registration(app.access_token, 'first-phone')());
  const measured = async (name: string, action: () => Promise<Response>, waiting = 0) => ({
    name,
    cost: await meter.measure(action),
    waiting,
  });
  return {
    login: await measured('Login, id token', await logIn('provider_f', 'alice')),
    unread: await measured(
      'Login, id token, the Login App not read in the last 30 s',
      await logIn('provider_f', 'bob', demo.other_login_app),
    ),
    called: await measured(
      'Login, access token (provider called)',
      await logIn('provider_a', 'carol'),
      assumptions.providerMilliseconds,
    ),
    refresh: await measured('Refresh', () => token({ grant_type: 'refresh_token', refresh_token })),
    registration: await measured('Registration of a device', registration(app.access_token, 'another-phone')),
    relation: await measured('Relation of a device', () =>
      post('/v2/marketing/login/user/push_notifications/devices', access_token, {
        device_id: id,
      }),
    ),
    unreadAccount: await measured('Search, the account not read in the last 30 s', search),
    search: await measured('Search', search),
  };
}

const credentials = v.record(v.string(), v.string());
const tokens = v.object({ access_token: v.string(), refresh_token: v.optional(v.string(), '') });
const device = v.object({ id: v.string() });

const read = async <Schema extends v.GenericSchema>(
  schema: Schema,
  response: Promise<Response>,
): Promise<v.InferOutput<Schema>> => v.parse(schema, await (await response).json());
