import { createHmac, type KeyObject, randomBytes } from 'node:crypto';
import { epochSeconds } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import type { AuthenticatedClient } from '../login-apps/clients.ts';
import type { Identity } from '../login-users/linked-identity.ts';
import { equalInConstantTime } from '../secrets/secrets.ts';
import { serviceKeysFor } from '../secrets/service-secret.ts';
import { hashOf } from '../storage/keys.ts';
import { useForOne } from '../storage/use-once.ts';

const serviceKeys = /* @__PURE__ */ serviceKeysFor('nonce', 'REFRESH_TOKENS_SECRET_ID');

/** The client that presents a credential, or that of the person. One with a key is public. */
export interface CredentialCaller
  extends Pick<AuthenticatedClient, 'loginAppId' | 'clientId' | 'proofKey'> {
  /** The Login User to whom the identity of the credential is to be linked; absent at a login. */
  linksTo?: string;
}

/** Seconds for which a nonce counts for a login. */
export const loginNonceLifetime = 600;

/** The use of a nonce: for an id token, or for a proof of possession. */
type Use = 'login' | 'proof';

const nonceForm = /^(ln\.(\d{10})\.[\w-]{22}\.([\w-]{8}))\.([\w-]{43})$/;

/**
 * A nonce for the Login App or the like: `ln.EXPIRES_AT.RANDOM.KEY_ID.MAC`. The MAC covers its use,
 * so nothing is stored.
 * @param lifetime in seconds
 */
export async function newNonce(use: Use, whose: string, lifetime: number): Promise<string> {
  const { id, key } = (await serviceKeys()).current;
  const expires = epochSeconds() + lifetime;
  const text = `ln.${expires}.${randomBytes(16).toString('base64url')}.${id}`;
  return `${text}.${mac(use, whose, text, key)}`;
}

/**
 * Epoch seconds at which a nonce expires; undefined unless it is valid, and was made for this use.
 */
export async function endOfNonce(
  use: Use,
  whose: string,
  nonce: string,
): Promise<number | undefined> {
  const [, text = '', expires, keyId = '', presented = ''] = nonce.match(nonceForm) ?? [];
  const key = (await serviceKeys()).withId(keyId)?.key;
  if (!key || !equalInConstantTime(presented, mac(use, whose, text, key))) return undefined;
  return Number(expires) > epochSeconds() ? Number(expires) : undefined;
}

const mac = (use: Use, whose: string, text: string, key: KeyObject): string =>
  createHmac('sha256', key).update(`${use} ${whose} ${text}`).digest('base64url');

/** Whether a text looks like a nonce that the service made, for whichever use and Login App. */
export const isServiceNonce = (text: unknown): boolean =>
  typeof text === 'string' && nonceForm.test(text);

/**
 * Checks the nonce of a login or a link, if the service made it. A public client may not send
 * another, which its id token shows.
 * @returns a function that uses the nonce up for a person: from then on, it counts for this caller
 *   and the same login alone
 * @throws ServiceError `invalid_grant`, as that function does when the nonce has had another use
 */
export async function checkNonce(caller: CredentialCaller, nonce: string | undefined) {
  const { loginAppId, proofKey } = caller;
  const isPublic = proofKey !== undefined;
  if (nonce === undefined) return usesNothing;
  if (!isPublic && !isServiceNonce(nonce)) return usesNothing;
  const end = await endOfNonce('login', loginAppId, nonce);
  if (end === undefined) throw unusable();
  return async (person: Identity) => {
    const use = useOf(caller, person);
    const isUsable = await useForOne(use, end, 'nonce', loginAppId, nonce);
    if (!isUsable) throw unusable();
  };
}

const usesNothing = async (): Promise<void> => {};

/** The one use of a nonce: whose key or client it is, and who logs in or links what. */
const useOf = (
  { clientId, proofKey, linksTo }: CredentialCaller,
  { namespace, subject }: Identity,
): string =>
  hashOf(
    proofKey === undefined ? 'client' : 'key',
    proofKey ?? clientId,
    linksTo ?? '',
    namespace,
    subject,
  );

const unusable = () =>
  new ServiceError('invalid_grant', 'The nonce is not valid, or has been used.', 'nonce_unusable');
