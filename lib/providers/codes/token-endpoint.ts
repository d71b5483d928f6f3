import * as v from 'valibot';
import { definedOnly } from '../../foundation/defined-only.ts';
import { invalid } from '../../foundation/service-error.ts';
import { logEvent, logFailure } from '../../log/log.ts';
import { failForOurApp } from '../calls/app-errors.ts';
import { callProvider, presentCredential, verificationDeadline } from '../calls/call-provider.ts';
import { rejected, wellFormedCredential } from '../calls/credential.ts';
import { dummy, ProviderFailure, rejectsDummy } from '../calls/provider-failure.ts';
import type { ReceivedToken } from '../received-token.ts';
import { valueAtPath } from '../settings/fields.ts';
import { authenticated, clientSecretOf } from './client-secret.ts';
import type { CodeExchange, Revocation } from './settings.ts';

/** An authorization code, and what the app requested it with. */
export interface AuthorizationCode {
  authorization_code: string;
  code_verifier?: string | undefined;
  /**
   * The address to which the code was sent.
   * @default the first in the settings
   */
  redirect_uri?: string | undefined;
  /** That of the id token for which it is exchanged. */
  nonce?: string | undefined;
}

const tokenSchema = v.fallback(v.optional(v.string()), undefined);
const tokensSchema = v.fallback(
  v.object({ access_token: tokenSchema, id_token: tokenSchema, refresh_token: tokenSchema }),
  {},
);

/**
 * Errors that say that our app may not exchange codes at all.
 * @see RFC 6749 section 5.2
 */
const errorsOfGrants = ['unauthorized_client', 'unsupported_grant_type'];

/**
 * Exchanges an authorization code.
 * @param received gets the refresh token, if the settings say where it can be revoked
 * @throws ServiceError, ProviderFailure
 * @see RFC 6749 section 4.1.3, RFC 7636 section 4.5
 */
export async function exchangeCode(
  exchange: CodeExchange,
  { authorization_code, code_verifier, redirect_uri }: AuthorizationCode,
  received: ReceivedToken,
  signal: AbortSignal,
) {
  const { token_url: url } = exchange;
  const code = wellFormedCredential(authorization_code);
  const parameters = definedOnly({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUriOf(exchange, redirect_uri),
    code_verifier,
  });
  const client_secret = await clientSecretOf(exchange);
  const answer = await presentCredential({
    url,
    ...authenticated(exchange, client_secret, parameters),
    signal,
  });
  const { status, body } = answer;
  const error = valueAtPath(body, exchange.error_field);
  if (exchange.refused_errors.includes(String(error))) throw rejected('code_refused');
  const told = [
    String(status),
    ...errorCode(error, [code, client_secret, code_verifier ?? '']),
  ].join(', ');
  // Nobody's code causes this error.
  if (error === 'invalid_client') throw new ProviderFailure('refused_our_credentials', url, told);
  failForOurApp({ ...exchange, app_errors: exchange.app_errors ?? errorsOfGrants }, answer, url);
  if (status === 401) throw new ProviderFailure('refused_our_credentials', url, told, status);
  const { refresh_token, ...tokens } = v.parse(tokensSchema, body);
  if (status === 200 && refresh_token !== undefined && exchange.revocation_url !== undefined)
    received.token = { text: refresh_token, issuer: received.issuer };
  const needed = exchange.id_token ? 'id_token' : 'access_token';
  if (status !== 200 || tokens[needed] === undefined)
    throw new ProviderFailure(
      'unexpected_answer',
      url,
      `${told}, no ${needed.replace('_', ' ')}`,
      status,
    );
  return tokens;
}

function redirectUriOf(
  { redirect_uris }: CodeExchange,
  named: string | undefined,
): string | undefined {
  if (named === undefined) return redirect_uris[0];
  if (redirect_uris.includes(named)) return named;
  throw invalid('The redirect_uri must be one of those in the provider settings.');
}

/** An error code for the log, if it looks like one and does not repeat what we sent. */
function errorCode(error: unknown, sent: string[]): string[] {
  const text = String(error ?? '');
  const isRepeated = sent.some(
    (value) => value !== '' && (value.includes(text) || text.includes(value)),
  );
  return /^[\w.-]{1,64}$/.test(text) && !isRepeated ? [text] : [];
}

/**
 * Revokes a refresh token of the provider. A token that the provider doesn't know counts as
 * revoked.
 * @throws ProviderFailure when the provider does not confirm it, Error when the settings no longer
 *   say where
 * @see RFC 7009 section 2.1
 */
export async function revokeProviderToken(
  exchange: Revocation | undefined,
  token: string,
  signal = verificationDeadline(),
) {
  if (!exchange?.revocation_url) throw new Error('The provider settings have no revocation_url.');
  const url = exchange.revocation_url;
  const form = { token, token_type_hint: 'refresh_token' };
  const { status, body } = await callProvider({
    url,
    ...authenticated(exchange, await clientSecretOf(exchange), form),
    statusOnly: true,
    signal,
  });
  const isUnknown =
    status === 400 &&
    exchange.refused_errors.includes(String(valueAtPath(body, exchange.error_field)));
  if (status !== 200 && !isUnknown)
    throw new ProviderFailure('unexpected_status', url, String(status));
}

/**
 * Logs whether a revocation succeeds. A failure must not stop what the person has asked for.
 * @param login_user_id the person whose token it is, if that is known
 */
export async function logRevocation(
  revocation: Promise<void>,
  login_user_id?: string,
): Promise<boolean> {
  try {
    await revocation;
    logEvent('provider_token_revoked', definedOnly({ login_user_id }));
    return true;
  } catch (error) {
    logFailure('provider_token_not_revoked', error, definedOnly({ login_user_id }));
    return false;
  }
}

/** Whether a token endpoint knows our app, and rejects a made-up code. */
export const checkExchange = (name: string, exchange: CodeExchange, signal: AbortSignal) =>
  rejectsDummy(name, () => exchangeCode(exchange, { authorization_code: dummy }, {}, signal));
