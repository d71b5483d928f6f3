import { endRelationsWhere } from '../devices/relate-device.ts';
import { definedOnly } from '../foundation/defined-only.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { annotateLog } from '../log/request-fields.ts';
import {
  type AuthenticatedClient,
  findCurrentClient,
  requireMoreThanIntrospection,
} from '../login-apps/clients.ts';
import { endSession } from '../people/sessions/end-sessions.ts';
import { hasIssued, readSession, requireSameKey } from '../people/sessions/session.ts';
import { useProof } from './dpop-proof.ts';
import { type PresentedToken, readToken } from './presented-token.ts';

/**
 * Ends the session of a refresh token or an access token. An unknown token, or one whose session
 * has ended, is no error. Nor is any token that a public client may not revoke: anybody knows its
 * id, and would learn that a stolen token is genuine.
 * @throws ServiceError for a confidential client, if the token was issued to another one or can't
 *   be revoked, or if the client may only introspect; `invalid_dpop_proof` for a proof that was
 *   used before
 * @see RFC 7009 section 2
 */
export async function revokeToken(client: AuthenticatedClient, token: string): Promise<void> {
  requireMoreThanIntrospection(client);
  const presented = await readToken(token);
  if (!presented) return;
  const isPublic = client.proofKey !== undefined;
  try {
    await revoke(client, presented);
  } catch (error) {
    const isRefusal = error instanceof ServiceError && error.detail.reason !== 'proof_used';
    if (!isPublic || !isRefusal) throw error;
    annotateLog(definedOnly({ reason: error.detail.reason }));
  }
}

async function revoke(client: AuthenticatedClient, presented: PresentedToken): Promise<void> {
  const { login_user_id, session_id } = sessionOf(presented, client);
  annotateLog({ login_user_id, session_id });
  const session = await readSession(login_user_id, session_id);
  // A session that is no longer stored has ended; the relations of its devices end here, but not
  // for a public client, since the key of the session is no longer known.
  if (!session) {
    if (client.proofKey !== undefined) return;
    await endRelationsWhere(
      login_user_id,
      (device) =>
        device.related_session_id === session_id && device.login_app_id === client.loginAppId,
    );
    return;
  }
  if (presented.kind === 'access_token' && !hasIssued(session, presented.claims)) return;
  const isOwn = session.client_id === client.clientId;
  // If that client is revoked, any other one of the Login App may end it.
  const mayEnd =
    isOwn ||
    (session.login_app_id === client.loginAppId && !(await findCurrentClient(session.client_id)));
  if (!mayEnd) throw anotherClients();
  if (isOwn || client.proofKey !== undefined) requireSameKey(session, client);
  await useProof(client);
  await endSession(login_user_id, session_id, 'client');
}

function sessionOf(presented: PresentedToken, { clientId, loginAppId }: AuthenticatedClient) {
  if (presented.kind === 'refresh_token') return presented.content;
  if (presented.kind === 'login_app_token') {
    if (presented.loginAppId !== loginAppId) throw anotherClients();
    throw notRevocable('A long-lived Login App Token is revoked by the operator.');
  }
  const { claims } = presented;
  if (claims.token_use === 'login_user')
    return { login_user_id: claims.sub, session_id: claims.sid };
  if (claims.client_id !== clientId) throw anotherClients();
  throw notRevocable('A Login App Token cannot be revoked; it expires, or ends with its client.');
}

const anotherClients = (): ServiceError =>
  new ServiceError(
    'invalid_request',
    'The token was issued to another client.',
    'issued_to_another_client',
  );

const notRevocable = (description: string) =>
  new ServiceError('unsupported_token_type', description, 'not_revocable');
