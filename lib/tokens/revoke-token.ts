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
import {
  hasIssued,
  readSession,
  requireSameKey,
  type Session,
} from '../people/sessions/session.ts';
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
  try {
    await revoke(client, presented);
  } catch (error) {
    if (!isHiddenFrom(client, error)) throw error;
    annotateLog(definedOnly({ reason: error.detail.reason }));
  }
}

/** Whether a client must not learn of an error: a public one, of what the token is. */
function isHiddenFrom({ proofKey }: AuthenticatedClient, error: unknown): error is ServiceError {
  if (proofKey === undefined || !(error instanceof ServiceError)) return false;
  return error.detail.reason !== 'proof_used';
}

async function revoke(client: AuthenticatedClient, presented: PresentedToken): Promise<void> {
  const { login_user_id, session_id } = sessionOf(presented, client);
  annotateLog({ login_user_id, session_id });
  const session = await readSession(login_user_id, session_id);
  if (!session) return unlinkDevices(client, { login_user_id, session_id });
  if (presented.kind === 'access_token' && !hasIssued(session, presented.claims)) return;

  if (!(await mayEnd(client, session))) throw anotherClients();
  const isOwn = session.client_id === client.clientId;
  if (isOwn || client.proofKey !== undefined) requireSameKey(session, client);
  await useProof(client);
  await endSession(login_user_id, session_id, 'client');
}

/**
 * Unlinks the devices of a session that is no longer stored, so it has ended. Not for a public
 * client, since the key of the session is no longer known.
 */
async function unlinkDevices(
  { loginAppId, proofKey }: AuthenticatedClient,
  { login_user_id, session_id }: Pick<Session, 'login_user_id' | 'session_id'>,
): Promise<void> {
  if (proofKey !== undefined) return;
  await endRelationsWhere(
    login_user_id,
    ({ related_session_id, login_app_id }) =>
      related_session_id === session_id && login_app_id === loginAppId,
  );
}

/**
 * Whether a client may end a session: its own, or that of a client that has been revoked, to which
 * any other one of the Login App may see.
 */
async function mayEnd(client: AuthenticatedClient, session: Session): Promise<boolean> {
  if (session.client_id === client.clientId) return true;
  if (session.login_app_id !== client.loginAppId) return false;
  const current = await findCurrentClient(session.client_id);
  return current === undefined;
}

/**
 * The session of a token that a client may revoke.
 * @throws ServiceError if it was issued to another client, or can't be revoked
 */
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
