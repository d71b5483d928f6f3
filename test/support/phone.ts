import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import { createClient } from './login-app.ts';
import { type Answer, now, type Service, unique } from './service.ts';

/** A phone: the app of a public client, with a key that never leaves it. */
export type Phone = Awaited<ReturnType<typeof newPhone>>;

export async function newPublicClient(
  service: Service,
  { login_app_id = service.demo.login_app.login_app_id, platform = 'ios', providers }: Flags = {},
): Promise<string> {
  const flags = definedOnly({ public: true, platform, providers });
  return (await createClient(service, login_app_id, flags)).client_id;
}

/** Flags of `clients create`. */
interface Flags {
  login_app_id?: string;
  platform?: string;
  providers?: string;
}

/** @param signer the key that signs, if it is not the phone's own */
export async function newPhone(
  service: Service,
  client_id: string,
  { alg = 'ES256', signer }: { alg?: string; signer?: CryptoKey } = {},
) {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  /** The nonce of the latest answer, for the next proof. */
  let proofNonce: string | undefined;
  const address = (endpoint: string) => `${service.demo.base_url}/v2/marketing/oauth/${endpoint}`;
  /**
   * A proof of its key for a request to an endpoint (RFC 9449), with the latest nonce if there is
   * one.
   * @param claims instead of its own, or others; undefined leaves one out
   */
  const proof = (endpoint: string, claims: object = {}, header: object = {}): Promise<string> =>
    new SignJWT({
      jti: unique('proof'),
      htm: 'POST',
      htu: address(endpoint),
      iat: now(),
      nonce: proofNonce,
      ...claims,
    })
      .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk, ...header })
      .sign(signer ?? privateKey);
  /**
   * A form to an endpoint of OAuth, with the client id and a proof.
   * @param proven another proof, or none
   */
  const send = async (
    endpoint: string,
    form: Record<string, string>,
    proven?: string | null,
  ): Promise<Answer> => {
    const dpop = proven === undefined ? await proof(endpoint) : proven;
    const headers: Record<string, string> = dpop === null ? {} : { dpop };
    const answer = await service.form(
      `/v2/marketing/oauth/${endpoint}`,
      { client_id, ...form },
      headers,
    );
    proofNonce = answer.headers.get('dpop-nonce') ?? proofNonce;
    return answer;
  };
  const nonce = async (): Promise<string> => (await send('nonce', {}, null)).body.nonce;
  /** The form of a login at `provider_f` by an id token with a nonce of the service. */
  const loginForm = async (subject = unique('person')): Promise<Record<string, string>> => {
    const fresh = await nonce();
    return { ...(await service.loginForm('provider_f', { subject, nonce: fresh })), nonce: fresh };
  };
  const logIn = async (subject?: string): Promise<Answer> =>
    send('token', await loginForm(subject));
  const refresh = (refresh_token: string, proven?: string | null): Promise<Answer> =>
    send('token', { grant_type: 'refresh_token', refresh_token }, proven);
  const thumbprint = await calculateJwkThumbprint(jwk);
  return { client_id, jwk, thumbprint, proof, send, nonce, loginForm, logIn, refresh };
}

/**
 * The same service, in which a phone logs in, refreshes and logs out. It heeds the nonces that the
 * clock makes necessary.
 */
export async function asPhone(service: Service, flags: Flags = {}): Promise<Service> {
  const phone = await newPhone(service, await newPublicClient(service, flags));
  const send = async (endpoint: string, form: Record<string, string>): Promise<Answer> => {
    const answer = await phone.send(endpoint, form);
    return answer.body?.error === 'use_dpop_nonce' ? phone.send(endpoint, form) : answer;
  };
  return {
    ...service,
    logIn: async (subject) => send('token', await phone.loginForm(subject)),
    refresh: (refresh_token) => send('token', { grant_type: 'refresh_token', refresh_token }),
    revoke: (token) => send('revoke', { token }),
  };
}
