import type { Demo } from '../../infra/local/demo.ts';
import { demoRequests, readDevice, readTokens, type Send } from '../../infra/local/demo-requests.ts';
import type { Cost, Meter } from './measure.ts';
import { assumptions } from './prices.ts';

/** The measured requests, named as on the page. */
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

/** Prepares, sends and measures each request once. */
export async function measureRequests(meter: Meter, demo: Demo): Promise<MeasuredRequests> {
  const requests = demoRequests(demo);
  // A warm function has cached the issuer's keys and the Login App.
  const user = await readTokens((await requests.logIn('provider_f', 'first'))());
  const app = await readTokens(requests.clientCredentials()());
  const { id } = await readDevice(requests.register(app.access_token, 'first-phone')());
  const measured = async (name: string, send: Send, waiting = 0) => ({
    name,
    cost: await meter.measure(send),
    waiting,
  });
  return {
    login: await measured('Login, id token', await requests.logIn('provider_f', 'alice')),
    unread: await measured(
      'Login, id token, the Login App not read in the last 30 s',
      await requests.logIn('provider_f', 'bob', demo.other_login_app),
    ),
    called: await measured(
      'Login, access token (provider called)',
      await requests.logIn('provider_a', 'carol'),
      assumptions.providerMilliseconds,
    ),
    refresh: await measured('Refresh', requests.refresh(user.refresh_token)),
    registration: await measured(
      'Registration of a device',
      requests.register(app.access_token, 'another-phone'),
    ),
    relation: await measured('Relation of a device', requests.relate(user.access_token, id)),
    unreadAccount: await measured('Search, the account not read in the last 30 s', requests.search()),
    search: await measured('Search', requests.search()),
  };
}
