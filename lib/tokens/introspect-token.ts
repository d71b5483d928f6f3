import * as v from 'valibot';
import { definedOnly } from '../foundation/defined-only.ts';
import { findCurrentClient } from '../login-apps/clients.ts';
import { findStatus } from '../login-apps/status.ts';
import { loginClaimsSchema } from '../login-users/linked-identity.ts';
import { authTimeOf } from '../login-users/recent-login.ts';
import {
  hasIssued,
  type SessionGeneration,
  stateOfGeneration,
} from '../people/sessions/session.ts';
import { countField, described, jsonSchema, textField } from '../schema/json-schema.ts';
import { type AccessTokenPayload, payloadOf } from './access-token.ts';
import { lookUpSession } from './active-session.ts';
import { issuer } from './issuer.ts';
import { readToken } from './presented-token.ts';

/**
 * A token that is not active. One that was issued to somebody who was merged says into whom, to a
 * client of the same Login App alone: a server that keys its data by `sub` learns where they are.
 * RFC 7662 (section 2.2) advises to say no more of such a token, so that nobody learns why: this is
 * the one exception.
 */
const inactiveToken = v.pipe(
  v.object({
    active: v.literal(false),
    merged_into: v.exactOptional(
      textField('The Login User into whom the one of the token was merged.'),
    ),
  }),
  v.title('InactiveToken'),
);

/** An access token may have claims of the login hook, too. */
const activeToken = v.pipe(
  v.objectWithRest(
    {
      active: v.literal(true),
      token_type: v.picklist(['bearer', 'refresh_token']),
      token_use: v.exactOptional(v.picklist(['login_user', 'login_app', 'recipients'])),
      scope: v.exactOptional(textField('The same as `token_use`.')),
      iss: v.string(),
      aud: textField('The Login App.'),
      sub: v.exactOptional(textField('The Login User, or the client itself.')),
      sid: v.exactOptional(textField('The session.')),
      client_id: v.exactOptional(v.string()),
      auth_time: v.exactOptional(
        described(
          countField,
          'When the person authenticated at their provider, if the provider says so, or logged in here, in epoch seconds. A refresh does not change it.',
        ),
      ),
      ext_id: v.exactOptional(
        textField(
          'The id of the person in the system that they were imported from. Only by a setting of the deployment.',
        ),
      ),
      guest: v.exactOptional(
        v.pipe(
          v.unknown(),
          jsonSchema({ type: 'boolean' }),
          v.description(
            'True for a guest, who has linked no identity by now. Absent for a person, whatever the token says.',
          ),
        ),
      ),
      merged_into: v.exactOptional(
        v.pipe(
          v.unknown(),
          jsonSchema({ type: 'string' }),
          v.description(
            'Of a guest who was merged: the Login User who has what the guest had. The token is active for ten minutes after that.',
          ),
        ),
      ),
      ...loginClaimsSchema.entries,
      jti: v.exactOptional(v.string()),
      iat: v.exactOptional(countField),
      exp: v.exactOptional(countField),
    },
    v.unknown(),
  ),
  v.title('ActiveToken'),
);

/** @see RFC 7662 section 2.2 */
export const introspectionSchema = v.pipe(
  v.variant('active', [inactiveToken, activeToken]),
  v.title('Introspection'),
);
type Introspection = v.InferOutput<typeof introspectionSchema>;

const inactive = { active: false } as const;

/**
 * Describes a token to a client of its Login App. For other clients, or while the Login App is
 * disabled, it is not active.
 */
export async function introspectToken(loginAppId: string, token: string): Promise<Introspection> {
  const { isEnabled } = await findStatus(loginAppId);
  if (!isEnabled) return inactive;
  const presented = await readToken(token);
  if (!presented) return inactive;
  if (presented.kind === 'access_token') return accessToken(loginAppId, presented.claims, token);
  if (presented.kind === 'refresh_token') return refreshToken(loginAppId, presented.content);
  return presented.loginAppId === loginAppId ? loginAppToken(loginAppId) : inactive;
}

const loginAppToken = (loginAppId: string): Introspection => ({
  active: true,
  token_type: 'bearer',
  token_use: 'login_app',
  scope: 'login_app',
  iss: issuer(),
  aud: loginAppId,
});

async function accessToken(
  loginAppId: string,
  claims: AccessTokenPayload,
  token: string,
): Promise<Introspection> {
  if (claims.aud !== loginAppId) return inactive;
  // Whatever a login hook has put into the token, it says nothing about the token itself.
  const active = { ...payloadOf(token), ...claims, active: true, token_type: 'bearer' } as const;

  if (claims.token_use === 'login_user') {
    const found = await lookUpSession(claims.aud, claims.sub, claims.sid);
    const { active: session, merged_into } = found;
    if (!session || !hasIssued(session, claims)) return definedOnly({ ...inactive, merged_into });
    const guest = session.isGuest || (await claimOfHook(loginAppId, claims.guest));
    const merged = merged_into ?? (await claimOfHook(loginAppId, claims.merged_into));
    const auth_time = authTimeOf(session);
    return definedOnly({ ...active, guest, merged_into: merged, auth_time });
  }
  const client = await findCurrentClient(claims.client_id);
  if (!client) return inactive;
  const mayUse = claims.token_use === 'login_app' || client.mayReadRecipients;
  return mayUse ? active : inactive;
}

/**
 * A claim of a person's token that is a mark of guests, if it is one of the login hook: where the
 * Login App lets in guests, it is the service's, and says what was.
 */
async function claimOfHook(loginAppId: string, told: unknown): Promise<unknown> {
  const { guests } = await findStatus(loginAppId);
  return guests ? undefined : told;
}

/**
 * Leaves out `iat` and `exp`, which move with a refresh: they would tell a thief when to present a
 * copy unnoticed.
 */
async function refreshToken(
  loginAppId: string,
  content: SessionGeneration,
): Promise<Introspection> {
  const { login_user_id, session_id } = content;
  const { active: session, merged_into } = await lookUpSession(
    loginAppId,
    login_user_id,
    session_id,
  );
  if (!session) return definedOnly({ ...inactive, merged_into });
  if (stateOfGeneration(session, content.generation) === 'outdated') return inactive;
  return definedOnly({
    active: true as const,
    token_type: 'refresh_token' as const,
    iss: issuer(),
    aud: session.login_app_id,
    sub: session.login_user_id,
    sid: session.session_id,
    client_id: session.client_id,
    auth_time: authTimeOf(session),
    ...session.login_claims,
    guest: session.isGuest || undefined,
    merged_into,
  });
}
