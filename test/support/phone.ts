import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { type Answer, type Service, unique } from './service.ts';

/** A phone: the app of a public client, with a key that never leaves it. */
export interface Phone {
  client_id: string;
  jwk: JWK;
  thumbprint: string;
  /** A proof of its key for a request to an endpoint (RFC 9449), with other claims or another header where a test wants them. */
  proof(endpoint: string, claims?: object, header?: object): Promise<string>;
  /** A form to an endpoint of OAuth, with the client id and a proof. @param proof another one, or none */
  send(endpoint: string, form: Record<string, string>, proof?: string | null): Promise<Answer>;
  nonce(): Promise<string>;
  /** The form of a login at `provider_f` by an id token with a nonce of the service. */
  loginForm(subject?: string): Promise<Record<string, string>>;
  logIn(subject?: string): Promise<Answer>;
  refresh(refresh_token: string, proof?: string | null): Promise<Answer>;
}

/** A public client of a Login App. */
export async function newPublicClient(
  service: Service,
  { login_app_id = service.demo.login_app.login_app_id, platform = 'ios' } = {},
): Promise<string> {
  const created = await service.operate('clients', 'create', {
    'login-app': login_app_id,
    public: true,
    platform,
  });
  return String(Object(created).client_id);
}

/** @param signer the key that signs, if it is not the phone's own */
export async function newPhone(
  service: Service,
  client_id: string,
  { alg = 'ES256', signer }: { alg?: string; signer?: CryptoKey } = {},
): Promise<Phone> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  const address = (endpoint: string) => `${service.demo.base_url}/v2/marketing/oauth/${endpoint}`;
  const phone: Phone = {
    client_id,
    jwk,
    thumbprint: await calculateJwkThumbprint(jwk),
    proof: (endpoint, claims, header) =>
      new SignJWT({
        ...{ jti: unique('proof'), htm: 'POST', htu: address(endpoint) },
        ...{ iat: Math.floor(Date.now() / 1000), ...claims },
      })
        .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk, ...header })
        .sign(signer ?? privateKey),
    send: async (endpoint, form, proof) => {
      const dpop = proof === undefined ? await phone.proof(endpoint) : proof;
      return service.call(`/v2/marketing/oauth/${endpoint}`, {
        method: 'POST',
        headers: dpop === null ? {} : { dpop },
        body: new URLSearchParams({ client_id, ...form }),
      });
    },
    nonce: async () => (await phone.send('nonce', {}, null)).body.nonce,
    loginForm: async (subject = unique('person')) => {
      const nonce = await phone.nonce();
      return { ...(await service.loginForm('provider_f', { subject, nonce })), nonce };
    },
    logIn: async (subject) => phone.send('token', await phone.loginForm(subject)),
    refresh: (refresh_token, proof) =>
      phone.send('token', { grant_type: 'refresh_token', refresh_token }, proof),
  };
  return phone;
}

/** The same service, in which a phone logs in, refreshes and logs out. It heeds the nonces that the clock makes necessary. */
export async function asPhone(service: Service): Promise<Service> {
  const phone = await newPhone(service, await newPublicClient(service));
  const send = async (endpoint: string, form: Record<string, string>): Promise<Answer> => {
    const answer = await phone.send(endpoint, form);
    if (answer.body?.error !== 'use_dpop_nonce') return answer;
    const nonce = answer.headers.get('dpop-nonce');
    return phone.send(endpoint, form, await phone.proof(endpoint, { nonce }));
  };
  return {
    ...service,
    logIn: async (subject) => send('token', await phone.loginForm(subject)),
    refresh: (refresh_token) => send('token', { grant_type: 'refresh_token', refresh_token }),
    revoke: (token) => send('revoke', { token }),
  };
}
