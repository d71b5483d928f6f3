import { decodeJwt } from 'jose';
import { newPerson } from './people.ts';
import type { Answer, Service } from './service.ts';

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
      const { authorization_code: _, ...credential } = await credentials(provider, { subject, ...query });
      return link({ provider, ...credential });
    },
    unlink: (id: string) => send('DELETE', `/identities/${id}`),
  };
}

/** The ids of the identities in an answer of `show`. */
export const identityIdsOf = ({ body }: Answer): string[] =>
  body.identities.map(({ id }: { id: string }) => id);

/** A new person, with what they do with their account. */
export async function newAccount(service: Service) {
  const person = await newPerson(service);
  return { ...person, account: accountOf(service, person.token) };
}

/** The Login User of an answer with tokens. */
export const subOf = ({ body }: Answer): string | undefined => decodeJwt(body.access_token).sub;

/** The Login Users, of these accounts, that have an identity of a provider. */
export async function ownersOf(accounts: ReturnType<typeof accountOf>[], provider: string) {
  const shown = await Promise.all(accounts.map((account) => account.show()));
  return shown
    .filter(({ body }) => body.identities?.some((one: { provider: string }) => one.provider === provider))
    .map(({ body }) => body.id);
}
