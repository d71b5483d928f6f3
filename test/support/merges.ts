import type { GuestPhone } from './guests.ts';
import { newPerson } from './people.ts';
import type { newPhone } from './phone.ts';
import type { Answer, Service } from './service.ts';

const path = '/v2/marketing/login/user/merge';

/** The form of a merge with whoever a provider of the sandbox knows as a subject. */
export async function mergeForm(
  service: Service,
  keep: string,
  subject: string,
  provider = 'provider_f',
): Promise<Record<string, string>> {
  const { authorization_code: _, ...credential } = await service.credentials(provider, { subject });
  return { keep, provider, ...credential };
}

/** Sends a form of a merge, as the person of an access token. */
export const sendMerge = (
  service: Service,
  { token }: { token: string },
  form: Record<string, string>,
  headers: Record<string, string> = {},
): Promise<Answer> => service.form(path, form, { authorization: `Bearer ${token}`, ...headers });

/** Merges, as the person of an access token, with whoever a provider knows as a subject. */
export const merge = async (
  service: Service,
  caller: { token: string },
  keep: string,
  subject: string,
  provider?: string,
): Promise<Answer> => sendMerge(service, caller, await mergeForm(service, keep, subject, provider));

/** Two people, of whom the first one merges. */
export const newPair = async (service: Service) => ({
  mine: await newPerson(service),
  theirs: await newPerson(service),
});

type Phone = Awaited<ReturnType<typeof newPhone>>;

/** The proof of a phone for a merge. */
export const mergeProof = (service: Service, phone: Phone, claims: object = {}): Promise<string> =>
  phone.proof('', { htm: 'POST', htu: `${service.demo.base_url}${path}`, ...claims });

/** Merges from a phone, with a proof of its key and a nonce of the service in the id token. */
export async function mergeFromPhone(
  service: Service,
  { phone, token }: Pick<GuestPhone, 'phone' | 'token'>,
  keep: string,
  subject: string,
): Promise<Answer> {
  const { grant_type: _, ...form } = await phone.loginForm(subject);
  const dpop = await mergeProof(service, phone);
  return sendMerge(service, { token }, { keep, ...form }, { dpop });
}
