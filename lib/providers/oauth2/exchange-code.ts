import { basicAuthorization, presentCredential } from '../call-provider.ts';
import { ProviderFailure } from '../provider-failure.ts';
import { plausible, rejected } from '../rejected.ts';
import { fieldAt } from '../subject.ts';
import type { CodeExchange } from './settings.ts';

/** The access token for an authorization code. @throws Refusal, ProviderFailure @see RFC 6749 section 4.1.3 */
export async function exchangeCode(
  exchange: CodeExchange,
  code: string,
  signal: AbortSignal,
): Promise<string> {
  const { token_url: url, client_id, client_secret, redirect_uri, client_authentication } = exchange;
  const parameters = { grant_type: 'authorization_code', code, redirect_uri };
  const { status, body } = await presentCredential({
    url,
    ...(client_authentication === 'basic'
      ? { form: parameters, headers: { authorization: basicAuthorization(client_id, client_secret) } }
      : { form: { ...parameters, client_id, client_secret } }),
    signal,
  });
  const error = fieldAt(body, exchange.error_field);
  if (exchange.refused_errors.includes(String(error))) throw rejected('code_refused');
  const told = [String(status), ...errorCode(error, [code, client_secret])].join(', ');
  if (status === 401 || error === 'invalid_client')
    throw new ProviderFailure('refused_our_credentials', url, told);
  const token = fieldAt(body, 'access_token');
  if (status !== 200 || typeof token !== 'string')
    throw new ProviderFailure('unexpected_answer', url, `${told}, no access token`);
  return plausible(token);
}

/** An error code for the log, if it looks like one, and does not repeat what we sent. */
const errorCode = (error: unknown, sent: string[]): string[] => {
  const text = String(error ?? '');
  const isRepeated = sent.some((value) => value.includes(text) || text.includes(value));
  return /^[\w.-]{1,64}$/.test(text) && !isRepeated ? [text] : [];
};
