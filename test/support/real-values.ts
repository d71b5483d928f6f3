import { newPerson, newPhone, type Person } from './people.ts';
import { type Service, unique } from './service.ts';

/**
 * A new person with a phone and two identities, a new access request, and valid credentials of
 * every kind.
 * @returns `values`, the placeholders of the event files with their values, and whose they are
 */
export async function newRealValues(service: Service) {
  const { login_app, account } = service.demo;
  const [appToken, person, other, { body: created }] = await Promise.all([
    service.loginAppToken(),
    newPerson(service, unique('alice')),
    newPerson(service, unique('bob')),
    service.createAccessRequest(),
  ]);
  const [phone, { body: linked }, fromA, fromF, ofOther, notification] = await Promise.all([
    newPhone(service, appToken),
    person.account.linkAt('provider_a', unique('alice')),
    service.credentials('provider_a', { subject: unique('carol') }),
    service.credentials('provider_f', { subject: unique('dora') }),
    service.credentials('provider_f', { subject: (await newPerson(service)).subject }),
    notificationAbout(service, person),
    service.addEvent(
      'reviews',
      { actor_type: 'custom', actor_id: 'risk-desk', status: 'approved' },
      created,
    ),
  ]);
  await service.relate(phone, person.token);
  return {
    person,
    phone,
    accessRequestId: Number(created.id),
    values: {
      CLIENT_ID: login_app.client_id,
      CLIENT_SECRET: login_app.client_secret,
      ACCOUNT_ID: account.account_id,
      ACCOUNT_SECRET: account.account_secret,
      LOGIN_APP_TOKEN: appToken,
      LOGIN_USER_TOKEN: person.token,
      PROVIDER_ACCESS_TOKEN: fromA.access_token ?? '',
      ID_TOKEN_OF_OTHERS: ofOther.id_token ?? '',
      PROVIDER_ID_TOKEN: fromF.id_token ?? '',
      PROVIDER_NOTIFICATION: notification,
      // Of somebody else, since this session may be revoked. They come last: the names above end in
      // these.
      ACCESS_TOKEN: other.token,
      REFRESH_TOKEN: other.refreshToken,
      [`la_${'A'.repeat(22)}`]: login_app.login_app_id,
      [`s_${'A'.repeat(22)}`]: person.sessionId,
      [`i_${'A'.repeat(22)}`]: linked.id,
      [`d_${'0'.repeat(43)}`]: phone,
      [`d_${'A'.repeat(43)}`]: phone,
      'access_requests/1': `access_requests/${created.id}`,
    },
  };
}

/** What their provider sends when a person has revoked their consent there. */
async function notificationAbout(service: Service, { subject }: Person): Promise<string> {
  const events = JSON.stringify({ type: 'consent-revoked', sub: subject, event_time: Date.now() });
  const claims = JSON.stringify({ events, jti: unique('jti') });
  return (await service.credentials('provider_f', { subject, claims })).id_token ?? '';
}
