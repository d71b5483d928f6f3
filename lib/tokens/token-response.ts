import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { definedOnly } from '../foundation/defined-only.ts';
import { newId } from '../foundation/ids.ts';
import { annotateLog } from '../log/request-fields.ts';
import { findStatus } from '../login-apps/status.ts';
import { authTimeOf } from '../login-users/recent-login.ts';
import { type HookClaims, hasLoginHook, hookClaimsIn } from '../people/login-hook.ts';
import { externalIdForTokens, type Session } from '../people/sessions/session.ts';
import { countField, described, textField } from '../schema/json-schema.ts';
import { accessTokenLifetime } from '../signing/settings.ts';
import { signJwt } from '../signing/signer.ts';
import type { AccessTokenClaims, TokenUse } from './access-token.ts';
import { issuer } from './issuer.ts';
import { writeRefreshToken } from './refresh-token.ts';

/**
 * A token response; `expires_in` is in seconds.
 * @see RFC 6749 section 5.1
 */
export const tokenResponseSchema = v.pipe(
  v.object({
    access_token: v.string(),
    issued_token_type: v.exactOptional(
      described(
        v.literal('urn:ietf:params:oauth:token-type:access_token'),
        "Only for a token exchange, whose access token is the provider's (RFC 8693).",
      ),
    ),
    token_type: v.literal('bearer'),
    expires_in: described(countField, 'Seconds until the access token expires.'),
    refresh_token: v.exactOptional(
      textField(
        'Gets the next token response. Absent for `client_credentials` and a token exchange.',
      ),
    ),
    refresh_token_expires_in: v.exactOptional(
      described(
        countField,
        'Seconds until the refresh token expires, unless it is used before. The name is not a standard yet.',
      ),
    ),
    scope: v.exactOptional(
      textField(
        "The scope of the token, where the request asked for another one. For a token exchange, the scopes of the provider's token, if the provider has told them.",
      ),
    ),
  }),
  v.title('TokenResponse'),
);
export type TokenResponse = v.InferOutput<typeof tokenResponseSchema>;

/** The Login User Token of a session, with its refresh token. */
export async function loginUserTokenOf(session: Session): Promise<TokenResponse> {
  const { login_app_id, login_user_id, session_id, client_id } = session;
  const hookClaims = hasLoginHook(login_app_id) ? await claimsOfHook(session) : {};
  // A claim of the hook never replaces one of the service, which come after it.
  const claims = {
    ...hookClaims,
    token_use: 'login_user',
    aud: login_app_id,
    sub: login_user_id,
    sid: session_id,
    client_id,
    auth_time: authTimeOf(session),
    ...session.login_claims,
    ...definedOnly({
      ext_id: externalIdForTokens(session),
      guest: session.guest,
      merged_into: session.merged_into,
    }),
  } as const;
  annotateLog({ login_user_id, session_id });
  const [token, refresh_token] = await Promise.all([
    issueAccessToken<'login_user'>(claims, session.expires_at),
    writeRefreshToken(session),
  ]);
  return { ...token, refresh_token, refresh_token_expires_in: session.expires_at - epochSeconds() };
}

/**
 * The claims that the login hook gave. Hooks of 1.1.0 could give some named `guest` or `merged_into`,
 * which stay as they are until the Login App lets in guests: from then on they are the service's
 * alone.
 */
async function claimsOfHook({ login_app_id, hook_claims }: Session): Promise<HookClaims> {
  const claims = hookClaimsIn(hook_claims);
  const { guest, merged_into, ...others } = claims;
  const { guests } = await findStatus(login_app_id);
  return guests ? others : claims;
}

type NewClaims<Use extends TokenUse> = Omit<
  AccessTokenClaims<Use>,
  'iss' | 'jti' | 'iat' | 'exp' | 'scope'
>;

/**
 * A signed access token (RFC 9068). Its scope repeats its use, for verifiers that read no more.
 * @param end in epoch seconds
 */
export async function issueAccessToken<Use extends TokenUse>(
  claims: NewClaims<Use>,
  end = Infinity,
) {
  const issuedAt = epochSeconds();
  const expires_in = Math.min(accessTokenLifetime(), end - issuedAt);
  const access_token = await signJwt('at+jwt', {
    ...claims,
    scope: claims.token_use,
    iss: issuer(),
    jti: newId('at'),
    iat: issuedAt,
    exp: issuedAt + expires_in,
  });
  return { access_token, token_type: 'bearer' as const, expires_in };
}
