import type { Demo } from '../../infra/local/demo.ts';
import { newPerson } from '../support/people.ts';
import { newPhone } from '../support/phone.ts';
import type { Answer, Service } from '../support/service.ts';
import type { Meter } from './measure.ts';
import { assumptions } from './prices.ts';

export type MeasuredRequests = Awaited<ReturnType<typeof measureRequests>>;

/**
 * Prepares, sends and measures each request once.
 * @param publicClient the id of a public client of the demo's Login App
 */
export async function measureRequests(meter: Meter, service: Service, publicClient: string) {
  const { demo } = service;
  /**
   * @param name as on the page
   * @param waiting milliseconds for a provider
   * @param status of the answer, if it is no success
   */
  const measured = async (
    name: string,
    send: () => Promise<Answer>,
    waiting = 0,
    status?: number,
  ) => ({
    name,
    cost: await meter.measure(send, status),
    waiting,
  });
  const logIn = async (subject: string, provider = 'provider_f', at?: Demo['login_app']) => {
    const form = await service.loginForm(provider, { subject });
    return () => service.token(form, at);
  };
  const appToken = await service.loginAppToken();
  const register = (token: string) => () =>
    service.register({ platform: 'android', token }, appToken);
  const from = { actor_type: 'custom', actor_id: 'risk-desk' };
  // A warm function has cached the issuer's keys and the Login App.
  const user = await newPerson(service, 'first');
  const { id } = (await register('first-phone')()).body;
  await (await logIn('carol', 'provider_a'))();
  const linked = await service.credentials('provider_a', { subject: 'dora' });
  const phone = await newPhone(service, publicClient);
  const { refresh_token } = (await phone.logIn('erin')).body;
  const loginOfPhone = await phone.loginForm('erin');
  // The nonce of its last answer has expired, and a refresh needs one.
  const oldProof = await phone.proof('token', { nonce: undefined });
  return {
    unread: await measured(
      'First login, id token, the Login App not read in the last 30 s',
      await logIn('bob', 'provider_f', demo.other_login_app),
    ),
    firstLogin: await measured('First login, id token', await logIn('alice')),
    login: await measured('Login, id token', await logIn('alice')),
    called: await measured(
      'Login, access token (provider called)',
      await logIn('carol', 'provider_a'),
      assumptions.providerMilliseconds,
    ),
    refresh: await measured('Refresh', () => service.refresh(user.refreshToken)),
    nonceOfPhone: await measured('Nonce for a login of a public client', () =>
      phone.send('nonce', {}, null),
    ),
    loginOfPhone: await measured('Login of a public client, id token', () =>
      phone.send('token', loginOfPhone),
    ),
    outdatedProof: await measured(
      'Refresh of a public client, 400 for the nonce of its proof',
      () => phone.refresh(refresh_token, oldProof),
      0,
      400,
    ),
    refreshOfPhone: await measured('Refresh of a public client', () =>
      phone.refresh(refresh_token),
    ),
    guest: await measured('Beginning of a guest', () => service.token({ grant_type: 'guest' })),
    guestOfPhone: await measured('Beginning of a guest of a public client', () =>
      phone.send('token', { grant_type: 'guest' }),
    ),
    link: await measured(
      'Link of an identity (provider called)',
      () => user.account.link({ provider: 'provider_a', ...linked }),
      assumptions.providerMilliseconds,
    ),
    registration: await measured('First registration of a device', register('another-phone')),
    again: await measured('Registration again', register('first-phone')),
    relation: await measured('Relation of a device', () => service.relate(id, user.token)),
    relatedAgain: await measured(
      'Registration again, of a related device',
      register('first-phone'),
    ),
    unreadAccount: await measured('Search, the account not read in the last 30 s', () =>
      service.search(),
    ),
    search: await measured('Search', () => service.search()),
    accessRequest: await measured('Access request', () =>
      service.createAccessRequest({ body: {} }),
    ),
    comment: await measured('Comment', () =>
      service.addEvent('comments', { ...from, comment: 'Please have a look at this.' }),
    ),
    review: await measured('Review', () =>
      service.addEvent('reviews', { ...from, status: 'rejected', comment: 'A page is missing.' }),
    ),
  };
}
