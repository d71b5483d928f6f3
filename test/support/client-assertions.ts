import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { createClient } from './login-app.ts';
import type { Claims } from './provider-stand-in.ts';
import { type Answer, now, type Service, unique } from './service.ts';

/** A key of a client, with the JWK that an operator registers. */
export type ClientKey = Awaited<ReturnType<typeof newClientKey>>;

export async function newClientKey(alg = 'ES256') {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = await exportJWK(publicKey);
  return { alg, privateKey, publicKey, jwk, thumbprint: await calculateJwkThumbprint(jwk) };
}

/** A JWT that a key signs. A claim that is undefined is left out. */
export const signed = (
  { alg, privateKey }: Pick<ClientKey, 'alg' | 'privateKey'>,
  claims: Claims,
  header: object = {},
): Promise<string> =>
  new SignJWT(JSON.parse(JSON.stringify(claims)))
    .setProtectedHeader({ alg, ...header })
    .sign(privateKey);

/** Clients without a secret, and the requests that they send. */
export function secretlessClients(service: Service) {
  const aud = service.demo.base_url;
  /**
   * Creates a client of the demo's Login App.
   * @param flags of the command
   */
  const create = async (
    flags: object,
    loginApp = service.demo.login_app.login_app_id,
  ): Promise<string> => (await createClient(service, loginApp, flags)).client_id;
  const createWithKeys = (keys: ClientKey[], flags: object = {}) =>
    create({ 'jwks-file': { keys: keys.map(({ jwk }) => jwk) }, ...flags });
  const assertion = (client_id: string, key: ClientKey, claims: Claims = {}, header: object = {}) =>
    signed(
      key,
      { iss: client_id, sub: client_id, aud, jti: unique('jti'), exp: now() + 60, ...claims },
      header,
    );
  /** Sends a form with an assertion, to the token endpoint unless told. */
  const send = (
    client_assertion: string,
    form: Record<string, string> = { grant_type: 'client_credentials' },
    {
      endpoint = 'token',
      headers = {},
    }: { endpoint?: string; headers?: Record<string, string> } = {},
  ): Promise<Answer> =>
    service.form(
      `/v2/marketing/oauth/${endpoint}`,
      { client_assertion_type: jwtBearer, client_assertion, ...form },
      headers,
    );
  return { aud, create, createWithKeys, assertion, send };
}

const jwtBearer = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
