import { setTimeout as wait } from 'node:timers/promises';
import { decodeJwt } from 'jose';
import { type Answer, type Service, unique } from './service.ts';

/** A person who has just logged in, with a Login User Token. */
export type Person = Awaited<ReturnType<typeof newPerson>>;

export async function newPerson(
  service: Service,
  subject = unique('person'),
  client = service.demo.login_app,
) {
  const answer = await service.logIn(subject, 'provider_f', client);
  return { ...loggedIn(service, answer), subject };
}

/** Whoever an answer with tokens logs in. */
export function loggedIn(service: Service, { body }: Answer) {
  const { sub, sid } = decodeJwt(body.access_token);
  return {
    token: String(body.access_token),
    refreshToken: String(body.refresh_token),
    loginUserId: String(sub),
    sessionId: String(sid),
    account: accountOf(service, body.access_token),
  };
}

/** A person who has just logged in on a new phone. */
export async function newPersonWithPhone(service: Service) {
  const person = await newPerson(service);
  const phone = await newPhone(service);
  await service.relate(phone, person.token);
  return { ...person, phone };
}

/**
 * Registers a new android phone; its device id.
 * @param appToken by default, one of the demo
 */
export async function newPhone(service: Service, appToken?: string): Promise<string> {
  const device = { platform: 'android', token: unique('phone') };
  return (await service.register(device, appToken ?? (await service.loginAppToken()))).body.id;
}

export async function deviceIdsOf(service: Service, { token }: Person): Promise<string[]> {
  const { body } = await service.listDevices(token);
  return body.devices.map(({ id }: { id: string }) => id);
}

const base = '/v2/marketing/login/user';

/** What a person does with their own account, with a Login User Token. */
export function accountOf({ call, credentials }: Service, token: string) {
  const send = (method: string, path = '', init: RequestInit = {}): Promise<Answer> =>
    call(`${base}${path}`, { ...init, method, headers: { authorization: `Bearer ${token}` } });
  const link = (form: Record<string, string>): Promise<Answer> =>
    send('POST', '/identities', { body: new URLSearchParams(form) });
  return {
    show: () => send('GET'),
    remove: () => send('DELETE'),
    sessions: () => send('GET', '/sessions'),
    endSessions: (query = '') => send('DELETE', `/sessions${query}`),
    endSession: (id: string) => send('DELETE', `/sessions/${id}`),
    link,
    /** Links what a provider of the sandbox issues for a subject. */
    linkAt: async (provider: string, subject: string, query: object = {}): Promise<Answer> => {
      const { authorization_code: _, ...credential } = await credentials(provider, {
        subject,
        ...query,
      });
      return link({ provider, ...credential });
    },
    unlink: (id: string) => send('DELETE', `/identities/${id}`),
  };
}

/** The ids of the identities in an answer of `show`. */
export const identityIdsOf = ({ body }: Answer): string[] =>
  body.identities.map(({ id }: { id: string }) => id);

/** Whether a person is still logged in. */
export const isIn = async ({
  account,
}: {
  account: ReturnType<typeof accountOf>;
}): Promise<boolean> => (await account.show()).status === 200;

/** The Login User of an answer with tokens. */
export const subOf = ({ body }: Answer): string | undefined => decodeJwt(body.access_token).sub;

/** The Login Users, of these accounts, that have an identity of a provider. */
export async function ownersOf(accounts: ReturnType<typeof accountOf>[], provider: string) {
  const shown = await Promise.all(accounts.map((account) => account.show()));
  return shown
    .filter(({ body }) =>
      body.identities?.some((one: { provider: string }) => one.provider === provider),
    )
    .map(({ body }) => body.id);
}

/**
 * Reads until what is read is as expected, for lists that lag behind; what was read last, after a
 * minute.
 */
export async function eventually<Value>(
  read: () => Promise<Value> | Value,
  isExpected: (value: Value) => boolean,
): Promise<Value> {
  const giveUpAt = Date.now() + 60_000;
  for (;;) {
    const value = await read();
    if (isExpected(value) || Date.now() > giveUpAt) return value;
    await wait(50);
  }
}

export const eventuallyHas = <Member>(
  count: number,
  read: () => Promise<Member[]>,
): Promise<Member[]> => eventually(read, ({ length }) => length === count);

/** Checks until the check passes, for lists that lag behind. */
export async function eventuallyPasses(check: () => Promise<void>): Promise<void> {
  const problem = () =>
    check().then(
      () => undefined,
      (error: unknown) => error,
    );
  const last = await eventually(problem, (error) => error === undefined);
  if (last !== undefined) throw last;
}
