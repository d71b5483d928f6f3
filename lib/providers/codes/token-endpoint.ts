import * as v from 'valibot';
import { epochSeconds, timestamp } from '../../foundation/clock.ts';
import { definedOnly } from '../../foundation/defined-only.ts';
import { invalid } from '../../foundation/service-error.ts';
import { logEvent, logFailure } from '../../log/log.ts';
import type { ProviderToken } from '../../login-users/linked-identity.ts';
import { failForOurApp } from '../calls/app-errors.ts';
import { callProvider, presentCredential, verificationDeadline } from '../calls/call-provider.ts';
import { rejected, wellFormedCredential } from '../calls/credential.ts';
import { dummy, ProviderFailure, rejectsDummy } from '../calls/provider-failure.ts';
import type { ReceivedToken } from '../received-token.ts';
import { valueAtPath } from '../settings/fields.ts';
import { accessIn, isBearer, type Tokens, tokensSchema } from './access.ts';
import { authenticated, clientSecretOf } from './client-secret.ts';
import type { CodeExchange, RefreshTokenSettings } from './settings.ts';

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

/**
 * Errors that say that our app may not exchange codes at all.
 * @see RFC 6749 section 5.2
 */
const errorsOfGrants = ['unauthorized_client', 'unsupported_grant_type'];

/**
 * Exchanges an authorization code.
 * @param received gets the refresh token, if the settings revoke or keep it
 * @throws ServiceError, ProviderFailure
 * @see RFC 6749 section 4.1.3, RFC 7636 section 4.5
 */
export async function exchangeCode(
  exchange: CodeExchange,
  { authorization_code, code_verifier, redirect_uri }: AuthorizationCode,
  received: ReceivedToken,
  signal: AbortSignal,
) {
  const code = wellFormedCredential(authorization_code);
  const form = definedOnly({
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUriOf(exchange, redirect_uri),
    code_verifier,
  });
  const needed = exchange.id_token ? 'id_token' : 'access_token';
  const sent = [code, code_verifier ?? ''];
  const answer = await askTokenEndpoint(exchange, { form, sent, needed }, signal);
  if (answer === 'refused') throw rejected('code_refused');
  const { tokens, sentAt, told } = answer;
  received.token = tokenToStore(exchange, tokens, sentAt, received.issuer);
  received.isRevocable = exchange.revocation_url !== undefined;
  if (tokens[needed] === undefined) throw withoutToken(needed, exchange.token_url, 200, told);
  return tokens;
}

/** The refresh token of an answer, if the settings say where it can be revoked, or keep it. */
function tokenToStore(
  { token_url, revocation_url, keep_tokens }: CodeExchange,
  tokens: Tokens,
  sentAt: number,
  issuer: string | undefined,
): ProviderToken | undefined {
  const { refresh_token: text } = tokens;
  const isKept = keep_tokens === true && isBearer(tokens);
  if (text === undefined || (revocation_url === undefined && !isKept)) return undefined;
  if (!isKept) return { text, issuer };
  const access = { ...accessIn(tokens, sentAt, token_url), since: timestamp() };
  return { text, issuer, access };
}

/**
 * Gets the next access token for a refresh token.
 * @returns the answer, or `refused` when the provider no longer accepts the refresh token
 * @throws ProviderFailure
 * @see RFC 6749 section 6
 */
export async function refreshProviderToken(
  exchange: RefreshTokenSettings,
  refresh_token: string,
  signal = verificationDeadline(),
) {
  const form = { grant_type: 'refresh_token', refresh_token };
  const refused_errors = [...exchange.refused_errors, 'invalid_grant'];
  const needed = 'access_token';
  const request: TokenRequest = { form, sent: [refresh_token], needed };
  const answer = await askTokenEndpoint({ ...exchange, refused_errors }, request, signal);
  if (answer === 'refused') return answer;
  const { tokens, sentAt, told } = answer;
  if (tokens[needed] === undefined) throw withoutToken(needed, exchange.token_url, 200, told);
  const isRevocable = exchange.revocation_url !== undefined;
  const access = accessIn(tokens, sentAt, exchange.token_url);
  return { access, refresh_token: tokens.refresh_token, isRevocable };
}

/** A request for tokens. */
interface TokenRequest {
  form: Record<string, string>;
  /** The credentials in it, which the log must not repeat. */
  sent: string[];
  /** The token that the answer should have, for the log. */
  needed: 'access_token' | 'id_token';
}

/** An answer with status 200, whose tokens may be missing: some providers send errors so. */
interface TokenAnswer {
  tokens: Tokens;
  /** Epoch seconds of the request. */
  sentAt: number;
  /** The error code in the answer, for the log. */
  told: string[];
}

/**
 * Asks a token endpoint.
 * @returns `refused` for a credential that the provider rejects
 * @throws ServiceError for a credential that is too long, ProviderFailure
 */
async function askTokenEndpoint(
  exchange: RefreshTokenSettings,
  { form, sent, needed }: TokenRequest,
  signal: AbortSignal,
): Promise<TokenAnswer | 'refused'> {
  const { token_url: url } = exchange;
  const client_secret = await clientSecretOf(exchange);
  const sentAt = epochSeconds();
  const answer = await presentCredential({
    url,
    ...authenticated(exchange, client_secret, form),
    signal,
  });
  const { status, body } = answer;
  const error = valueAtPath(body, exchange.error_field);
  if (exchange.refused_errors.includes(String(error))) return 'refused';
  const told = errorCode(error, [...sent, client_secret]);
  // Nobody's credential causes this error.
  if (error === 'invalid_client')
    throw new ProviderFailure('refused_our_credentials', url, [status, ...told].join(', '));
  failForOurApp({ ...exchange, app_errors: exchange.app_errors ?? errorsOfGrants }, answer, url);
  if (status === 401)
    throw new ProviderFailure('refused_our_credentials', url, [status, ...told].join(', '), status);
  if (status !== 200) throw withoutToken(needed, url, status, told);
  return { tokens: v.parse(tokensSchema, body), sentAt, told };
}

const withoutToken = (
  needed: TokenRequest['needed'],
  url: string,
  status: number,
  told: string[],
): ProviderFailure => {
  const detail = [status, ...told, `no ${needed.replace('_', ' ')}`].join(', ');
  return new ProviderFailure('unexpected_answer', url, detail, status);
};

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
  exchange: RefreshTokenSettings | undefined,
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
export async function logRevocation<Outcome>(
  revocation: Promise<Outcome | 'revoked'>,
  login_user_id?: string,
): Promise<Outcome | 'revoked' | 'not_revoked'> {
  try {
    const outcome = await revocation;
    if (outcome === 'revoked') logEvent('provider_token_revoked', definedOnly({ login_user_id }));
    return outcome;
  } catch (error) {
    logFailure('provider_token_not_revoked', error, definedOnly({ login_user_id }));
    return 'not_revoked';
  }
}

/** Whether a token endpoint knows our app, and rejects a made-up code. */
export const checkExchange = (name: string, exchange: CodeExchange, signal: AbortSignal) =>
  rejectsDummy(name, () => exchangeCode(exchange, { authorization_code: dummy }, {}, signal));
