import { epochSeconds, timestamp } from '../../foundation/clock.ts';
import { annotateLog } from '../../log/request-fields.ts';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import type { GuestRules } from '../../login-apps/status.ts';
import { dueAt, guestEndItem } from '../../login-users/guest-end.ts';
import {
  loginUserItem,
  newIndexId,
  placeAmongPeople,
  whileNotThere,
} from '../../login-users/login-user.ts';
import { newSessionPrefix } from '../../login-users/session-ids.ts';
import { put, writeTogether } from '../../storage/transactions.ts';
import { askLoginHook, hasLoginHook } from '../login-hook.ts';
import { sessionOf, slotsInRing } from './new-session.ts';
import type { Session } from './session.ts';

const secondsInDay = 86_400;

/**
 * Creates a guest, a Login User without an identity, and starts their session, which the caller
 * stores.
 * @param name a name from the app, for the guest to tell sessions apart once they are a person
 * @throws ServiceError `invalid_grant` when the login hook refuses
 */
export async function startGuest(
  client: AuthenticatedClient,
  { days }: GuestRules,
  name: string | undefined,
): Promise<Session> {
  const { loginAppId, clientId } = client;
  const person = { login_user_id: newIndexId(), login_app_id: loginAppId };
  const { login_user_id } = person;
  annotateLog({ login_user_id });

  // 1. The login hook decides, as about anybody new.
  const hookClaims = hasLoginHook(loginAppId)
    ? await askLoginHook({
        event: 'login',
        ...person,
        guest: true,
        external_id: undefined,
        first_login: true,
        client_id: clientId,
      })
    : undefined;

  // 2. The session that begins with it ends before the guest has to be gone.
  const guestEnd = epochSeconds() + days * secondsInDay;
  const prefix = newSessionPrefix();
  const outcome = { done: true, created: true, before: undefined } as const;
  const session = sessionOf({
    client,
    owner: person,
    guestEnd,
    name,
    hookClaims,
    prefix,
    outcome,
  });

  // 3. The guest is written with what leads to them when their session is over.
  const now = timestamp();
  const guest = put(
    loginUserItem(login_user_id),
    {
      ...person,
      ...placeAmongPeople(person, now),
      created_at: now,
      last_login_at: now,
      guest_until: guestEnd,
      sessions_begun: 1,
      session_places: slotsInRing(),
      last_session_id: prefix,
    },
    whileNotThere,
  );
  const end = put(guestEndItem(login_user_id), { login_user_id, ...dueAt(session.expires_at) });
  const { done } = await writeTogether([guest, end]);
  if (!done) throw new Error('Somebody has the random id of a new guest.');
  return session;
}
