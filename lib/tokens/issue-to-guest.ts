import * as v from 'valibot';
import { ServiceError } from '../foundation/service-error.ts';
import { guestGrant } from '../login-apps/client-metadata.ts';
import type { AuthenticatedClient } from '../login-apps/clients.ts';
import { findStatus, type GuestRules } from '../login-apps/status.ts';
import { putSession } from '../people/sessions/new-session.ts';
import { startGuest } from '../people/sessions/start-guest.ts';
import { forbidden, parameters } from '../schema/form-parameters.ts';
import { useProof } from './dpop-proof.ts';
import { countGuest } from './limit-guests.ts';
import { loginParameters } from './login-parameters.ts';
import { loginUserTokenOf, type TokenResponse } from './token-response.ts';

const asGuest = 'by somebody who begins as a guest';

/** The grant of somebody who begins without an account. It proves nothing of who they are. */
export const guestSchema = v.pipe(
  parameters({
    grant_type: v.literal(guestGrant),
    ...loginParameters,
    provider: forbidden('provider', asGuest),
    refresh_token: forbidden('refresh_token', asGuest),
  }),
  v.title('GuestGrant'),
);
type GuestForm = v.InferOutput<typeof guestSchema>;

/**
 * Makes a guest, and logs them in. The session is stored last, so a request that fails leaves none.
 * @throws ServiceError
 */
export async function issueToGuest(
  client: AuthenticatedClient,
  { session_name: name }: GuestForm,
): Promise<TokenResponse> {
  const rules = await rulesFor(client);
  await useProof(client);
  await countGuest(client, rules);
  const session = await startGuest(client, rules, name);
  const tokens = await loginUserTokenOf(session);
  await putSession(session);
  return tokens;
}

/**
 * The rules for guests of a client's Login App.
 * @throws ServiceError `unauthorized_client` where it lets in no guests, `invalid_grant` while it
 *   lets nobody new in
 */
async function rulesFor({ loginAppId }: AuthenticatedClient): Promise<GuestRules> {
  const { guests, isOpen } = await findStatus(loginAppId);
  if (!guests) {
    const message =
      'The Login App lets in no guests. An operator can change that by login-apps set-guests.';
    throw new ServiceError('unauthorized_client', message, 'guests_off');
  }
  if (isOpen) return guests;
  throw new ServiceError('invalid_grant', 'The Login App lets nobody new in.', 'sign_ups_closed');
}
