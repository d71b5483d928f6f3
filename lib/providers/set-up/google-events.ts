import { createPrivateKey, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import * as v from 'valibot';
import { epochSeconds } from '../../foundation/clock.ts';
import { invalid } from '../../foundation/service-error.ts';
import { callProvider, verificationDeadline } from '../calls/call-provider.ts';
import { explainFailure, ProviderFailure } from '../calls/provider-failure.ts';
import { valueAtPath } from '../settings/fields.ts';

const audience = 'https://risc.googleapis.com/google.identity.risc.v1beta.RiscManagementService';
const uris = 'https://schemas.openid.net/secevent';
/** Google's security events, besides those that verify the stream. */
const events = [
  'risc/event-type/account-disabled',
  'risc/event-type/account-enabled',
  'risc/event-type/account-credential-change-required',
  'risc/event-type/sessions-revoked',
  'oauth/event-type/token-revoked',
  'oauth/event-type/tokens-revoked',
].map((name) => `${uris}/${name}`);

const keyFileSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ client_email: v.string(), private_key_id: v.string(), private_key: v.string() }),
);

/**
 * Google's API for the stream of security events of a project.
 * @param keyFile the JSON key of a service account
 * @throws ServiceError also when Google does not answer as it should
 * @see https://developers.google.com/identity/protocols/risc
 */
export function googleEvents(keyFile: string, api = 'https://risc.googleapis.com') {
  const key = v.safeParse(keyFileSchema, keyFile);
  if (!key.success) throw invalid('The file is not the JSON key of a service account.');
  const { client_email, private_key_id: kid, private_key } = key.output;
  const call = async (path: string, json?: object): Promise<unknown> => {
    const url = `${api}/v1beta/${path}`;
    const authorization = `Bearer ${await bearer(client_email, kid, private_key)}`;
    try {
      const signal = verificationDeadline();
      const { status, body } = await callProvider({
        url,
        headers: { authorization },
        json,
        signal,
      });
      if (status === 200) return body;
      throw invalid(
        `${url} answers ${status}: ${String(valueAtPath(body, 'error.message') ?? 'no reason')}`,
      );
    } catch (error) {
      throw error instanceof ProviderFailure ? invalid(explainFailure(error)) : error;
    }
  };
  return {
    register: (url: string) =>
      call('stream:update', {
        delivery: { delivery_method: `${uris}/risc/delivery-method/push`, url },
        events_requested: events,
      }),
    verify: async () => {
      const state = randomUUID();
      await call('stream:verify', { state });
      return state;
    },
    show: async () => {
      const stream = await call('stream');
      const status = await call('stream/status');
      return {
        stream,
        status: valueAtPath(status, 'status'),
        url: valueAtPath(stream, 'delivery.url'),
      };
    },
  };
}

async function bearer(email: string, kid: string, pem: string): Promise<string> {
  const now = epochSeconds();
  const claims = { iss: email, sub: email, aud: audience, iat: now, exp: now + 3600 };
  try {
    return await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', kid })
      .sign(createPrivateKey(pem));
  } catch {
    throw invalid('The private_key of the service account is not an RSA key in PEM form.');
  }
}
