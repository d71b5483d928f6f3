import type { Demo } from '../../infra/local/demo.ts';
import { demoRequests, readDevice, readTokens, type Send } from '../support/demo-requests.ts';
import type { Cost, Meter } from './measure.ts';
import { assumptions } from './prices.ts';

/** The measured requests, named as on the page. */
interface MeasuredRequest {
  name: string;
  cost: Cost;
  /** Milliseconds that it waits for a provider. */
  waiting: number;
}

export type MeasuredRequests = Awaited<ReturnType<typeof measureRequests>>;

/** Prepares, sends and measures each request once. */
export async function measureRequests(meter: Meter, demo: Demo) {
  const requests = demoRequests(demo);
  // A warm function has cached the issuer's keys and the Login App.
  const user = await readTokens((await requests.logIn('provider_f', 'first'))());
  const app = await readTokens(requests.clientCredentials()());
  const { id } = await readDevice(requests.register(app.access_token, 'first-phone')());
  const measured = async (name: string, send: Send, waiting = 0): Promise<MeasuredRequest> => ({
    name,
    cost: await meter.measure(send),
    waiting,
  });
  const logIn = (subject: string, at?: Demo['login_app']) => requests.logIn('provider_f', subject, at);
  const callProvider = () => requests.logIn('provider_a', 'carol');
  await (await callProvider())();
  const linked = await readTokens(fetch(`${demo.sandbox_url}/provider_a/credentials?subject=dora`));
  const register = (phone: string) => requests.register(app.access_token, phone);
  return {
    unread: await measured(
      'First login, id token, the Login App not read in the last 30 s',
      await logIn('bob', demo.other_login_app),
    ),
    firstLogin: await measured('First login, id token', await logIn('alice')),
    login: await measured('Login, id token', await logIn('alice')),
    called: await measured(
      'Login, access token (provider called)',
      await callProvider(),
      assumptions.providerMilliseconds,
    ),
    refresh: await measured('Refresh', requests.refresh(user.refresh_token)),
    link: await measured(
      'Link of an identity (provider called)',
      requests.link(user.access_token, 'provider_a', linked.access_token),
      assumptions.providerMilliseconds,
    ),
    registration: await measured('First registration of a device', register('another-phone')),
    again: await measured('Registration again', register('first-phone')),
    relation: await measured('Relation of a device', requests.relate(user.access_token, id)),
    relatedAgain: await measured('Registration again, of a related device', register('first-phone')),
    unreadAccount: await measured('Search, the account not read in the last 30 s', requests.search()),
    search: await measured('Search', requests.search()),
    accessRequest: await measured('Access request', requests.createAccessRequest()),
    comment: await measured('Comment', requests.addComment('Please have a look at this.')),
    review: await measured('Review', requests.addReview('rejected', 'A page is missing.')),
  };
}
