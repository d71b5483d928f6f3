import { createClient, createLoginApp } from './login-app.ts';
import { loggedIn } from './people.ts';
import { newPublicClient, newPhone as startPhone } from './phone.ts';
import { type Answer, type Service, unique } from './service.ts';

const base = '/v2/marketing/login/user';

/** A guest who has just begun, with a Login User Token. */
export type Guest = ReturnType<typeof guestIn>;

/** The guest of an answer to the grant. */
export function guestIn(service: Service, answer: Answer) {
  if (answer.status !== 200) throw new Error(`There is no guest: ${answer.text}`);
  return loggedIn(service, answer);
}

/** A guest of a confidential client. */
export const newGuest = async (service: Service, client = service.demo.login_app): Promise<Guest> =>
  guestIn(service, await service.token({ grant_type: 'guest' }, client));

/** A Login App with a confidential client, a public one, and rules for guests. */
export async function newGuestApp(service: Service, rules: Record<string, number> = {}) {
  const app = await createLoginApp(service, unique('app'), {
    platforms: ['android'],
    providers: ['provider_f'],
  });
  const { login_app_id } = app;
  await service.operate('login-apps', 'set-guests', {
    'login-app': login_app_id,
    days: 90,
    ...rules,
  });
  const publicClient = await newPublicClient(service, { login_app_id });
  return { ...app, ...(await createClient(service, login_app_id)), login_app_id, publicClient };
}

/** A phone with a guest. */
export type GuestPhone = Awaited<ReturnType<typeof newGuestPhone>>;

export async function newGuestPhone(service: Service, clientId?: string) {
  const client = clientId ?? (await newPublicClient(service));
  const phone = await startPhone(service, client);
  const guest = guestIn(service, await phone.send('token', { grant_type: 'guest' }));
  return { ...guest, phone, ...presenceOf(service, phone, guest.token) };
}

type Phone = Awaited<ReturnType<typeof startPhone>>;

/** What a phone does with a proof of its key, as the guest of an access token. */
export function presenceOf(service: Service, phone: Phone, token: string) {
  const proof = (method: 'POST' | 'DELETE', path = '', claims: object = {}): Promise<string> =>
    phone.proof('', { htm: method, htu: `${service.demo.base_url}${base}${path}`, ...claims });
  const send = (
    method: 'POST' | 'DELETE',
    path: string,
    dpop: string | undefined,
    form?: Record<string, string>,
  ): Promise<Answer> =>
    service.call(`${base}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(dpop !== undefined && { dpop }) },
      ...(form && { body: new URLSearchParams(form) }),
    });
  const link = (form: Record<string, string>, dpop?: string): Promise<Answer> =>
    send('POST', '/identities', dpop, form);
  return {
    proof,
    link,
    /** Links an identity at `provider_f` with a proof, and a nonce of the service in the id token. */
    linkAs: async (subject: string): Promise<Answer> => {
      const { grant_type: _, ...form } = await phone.loginForm(subject);
      return link(form, await proof('POST', '/identities'));
    },
    remove: (dpop?: string): Promise<Answer> => send('DELETE', '', dpop),
  };
}
