import { formOf, ServiceError, send, type TokenAnswer, type TokenSource } from './session';

// The engine of React Native has them, its types don't.
declare function atob(base64: string): string;
declare function btoa(bytes: string): string;

/** The key of this phone, of ES256. It never leaves the Secure Enclave or Keystore. */
export interface PhoneKey {
  publicJwk(): Promise<{ kty: string; crv: string; x: string; y: string }>;
  /** Signs an ASCII text. @returns the 64 bytes of a JWT's signature, in base64url */
  sign(text: string): Promise<string>;
}

interface Settings {
  /** The address of the login service. */
  service: string;
  client_id: string;
  key: PhoneKey;
  /** The long-lived Login App Token that the app contains. */
  app_token: string;
  /** 16 random bytes or more, as a text: new each time. */
  random(): string;
}

/** A public client (RFC 9449): it has no secret, and proves the key of this phone to the service. */
export function publicClient({ service, client_id, key, app_token, random }: Settings): TokenSource {
  const oauth = `${service}/v2/marketing/oauth`;

  /** The claim of the next proof: each answer has it, and it outlives the access token by ten minutes. */
  let nonce: string | undefined;
  const hear = (headers: Headers) => {
    nonce = headers.get('dpop-nonce') ?? nonce;
  };

  async function proof(htm: string, htu: string): Promise<string> {
    const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: await key.publicJwk() };
    const claims = { jti: random(), htm, htu, iat: Math.floor(Date.now() / 1000), nonce };
    const text = [header, claims].map((part) => base64url(JSON.stringify(part))).join('.');
    return `${text}.${await key.sign(text)}`;
  }

  /** Sends a form with a proof. */
  async function prove<T>(endpoint: string, fields: Record<string, string>): Promise<T> {
    const url = `${oauth}/${endpoint}`;
    const form = formOf({ client_id, ...fields });
    const once = async (): Promise<T> => send('POST', url, form, { dpop: await proof('POST', url) }, hear);
    try {
      return await once();
    } catch (error) {
      // The service wants its latest nonce, or the network has sent a proof twice: the same request with a new proof.
      const again = error instanceof ServiceError && /^(use_dpop_nonce|invalid_dpop_proof)$/.test(error.code);
      if (!again) throw error;
      return once();
    }
  }
  const token = (grant_type: string, more: Record<string, string>) =>
    prove<TokenAnswer>('token', { grant_type, ...more });

  return {
    nonce: async () => (await send<{ nonce: string }>('POST', `${oauth}/nonce`, formOf({ client_id }))).nonce,
    logIn: (credential) => token('provider_credentials', { provider: 'provider_f', ...credential }),
    guest: () => token('guest', {}),
    proof,
    refresh: (refresh_token) => token('refresh_token', { refresh_token }),
    logOut: (refresh_token) => prove('revoke', { token: refresh_token }),
    appToken: async () => app_token,
  };
}

/** @param bytes one character each */
export const base64url = (bytes: string): string =>
  btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

/** The signature of a JWT, from that of a phone's key. @param signature DER of RFC 3279, in base64 */
export function jwtSignature(signature: string): string {
  const der = atob(signature); // SEQUENCE, its length, INTEGER, its length, r, INTEGER, its length, s
  const end = (at: number) => at + 1 + der.charCodeAt(at);
  const number = (at: number) => der.slice(at + 1, end(at)).padStart(32, '\0').slice(-32);
  return base64url(number(3) + number(end(3) + 1));
}
