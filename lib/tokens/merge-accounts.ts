import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { definedOnly } from '../foundation/defined-only.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { annotateIds, annotateLog } from '../log/request-fields.ts';
import { type AuthenticatedClient, findCurrentClient, mayUseGrant } from '../login-apps/clients.ts';
import type { VerifiedIdentity } from '../login-users/linked-identity.ts';
import {
  type AuthenticatedUser,
  deletedError,
  type LoginUser,
  readLoginUser,
  requireActiveUser,
} from '../login-users/login-user.ts';
import { showLoginUser, shownLoginUserSchema } from '../people/identities/identities-of-person.ts';
import { findIndexItem, ownerOf } from '../people/identities/identity-index.ts';
import { linkIdentity } from '../people/identities/link-identity.ts';
import { type MergeForm, verifyNewIdentity } from '../people/identities/new-identity.ts';
import { withReceivedToken } from '../people/identities/store-token.ts';
import { askAboutLink } from '../people/login-hook.ts';
import {
  type Merge,
  mergeLoginUsers,
  requireMergeable,
} from '../people/merge/merge-login-users.ts';
import { logIn } from '../people/sessions/log-in.ts';
import { putSession } from '../people/sessions/new-session.ts';
import type { ReceivedToken } from '../providers/received-token.ts';
import { countField, described, textField } from '../schema/json-schema.ts';
import { writeRefreshToken } from './refresh-token.ts';

/** The account that was kept, as its person sees it, and what came of the merge. */
export const mergedAccountSchema = v.pipe(
  v.object({
    ...shownLoginUserSchema.entries,
    merged_from: v.exactOptional(
      textField('The Login User who is gone. Absent if the identity was theirs already.'),
    ),
    moved: v.exactOptional(
      described(
        v.object({ identities: countField, devices: countField }),
        'How many came from the other account.',
      ),
    ),
    lost: v.exactOptional(
      described(
        v.object({ identities: countField, devices: countField }),
        'How many are gone, since a person may have 20 of each: the identities that nobody had logged in with for the longest time, and the devices that were seen least recently.',
      ),
    ),
    refresh_token: v.exactOptional(
      textField(
        'For `keep=theirs`: the refresh token of a new session of the account that is kept. Get its tokens by `grant_type=refresh_token`; those of the request are of the account that is gone.',
      ),
    ),
    refresh_token_expires_in: v.exactOptional(
      described(countField, 'Seconds until the refresh token expires, unless it is used before.'),
    ),
  }),
  v.title('MergedAccount'),
);
type MergedAccount = v.InferOutput<typeof mergedAccountSchema>;

/** A request to merge whose credential a provider has verified. */
interface ProvenMerge {
  caller: AuthenticatedUser;
  user: LoginUser;
  form: MergeForm;
  verified: VerifiedIdentity;
  received: ReceivedToken;
}

/**
 * Merges the person of a token with the person of a fresh credential. Equal addresses mean nothing.
 * Whoever repeats a request whose answer was lost gets the account as it is then.
 * @throws ServiceError, ProviderFailure
 */
export async function mergeAccounts(
  caller: AuthenticatedUser,
  form: MergeForm,
): Promise<MergedAccount> {
  const user = requireActiveUser(caller);
  const { login_app_id: loginAppId } = user;
  return withReceivedToken({ loginAppId, provider: form.provider }, async (received) => {
    // 1. The provider says whose credential it is.
    const verified = await verifyNewIdentity(user, caller, form, received);
    const proven = { caller, user, form, verified, received };

    // 2. The other account is that person's, and both may be merged.
    const other = await readOther(user, verified);
    if (other.login_user_id === user.login_user_id) return keepAsItIs(proven);
    if (form.keep === 'mine') {
      requireMergeable(user, other);
      return keepMine(proven, other);
    }
    requireMergeable(other, user);
    return keepTheirs(proven, other);
  });
}

/** @throws ServiceError `conflict` if nobody has the identity */
async function readOther(
  { login_app_id }: LoginUser,
  verified: VerifiedIdentity,
): Promise<LoginUser> {
  const owner = await ownerOf(await findIndexItem(login_app_id, verified));
  if (owner) return owner.user;
  throw new ServiceError(
    'conflict',
    'The identity belongs to no other account, so there is nothing to merge: link it instead.',
  );
}

/** Answers with the account of the caller, who has the identity already. */
async function keepAsItIs(proven: ProvenMerge): Promise<MergedAccount> {
  await noteVerified(proven);
  return showKept(proven.user.login_user_id);
}

/** Notes what the provider has just said of the identity, as a login with it does. */
async function noteVerified({ user, form, verified, received }: ProvenMerge): Promise<void> {
  await linkIdentity(user, form.provider, verified, { received });
}

/** The account of the caller gets the other one. */
async function keepMine(proven: ProvenMerge, other: LoginUser): Promise<MergedAccount> {
  const { caller, user, form, verified } = proven;
  await askAboutLink(caller, form.provider, verified);
  const pair = { keptId: user.login_user_id, givenUpId: other.login_user_id };
  const merge = await mergeLoginUsers(pair, { proven: verified, sessionId: caller.session_id });
  await noteVerified(proven);
  return showMerge(pair, merge);
}

/**
 * The other account gets that of the caller. The credential is as good as a login, so the phone gets
 * a session of the account that is kept, by a refresh token: the key that signs access tokens is for
 * the token endpoint alone. The session is stored when the accounts are merged, so a refusal leaves
 * none.
 */
async function keepTheirs(proven: ProvenMerge, other: LoginUser): Promise<MergedAccount> {
  const { caller, user, form, verified, received } = proven;
  const client = await findCurrentClient(caller.client_id);
  if (!client) throw deletedError();
  requireLoginGrant(client, form);
  const { provider } = form;
  const login = { provider, verified, received, name: caller.name };
  const session = await logIn({ ...client, proofKey: caller.proof_key }, login);
  if (session.login_user_id !== other.login_user_id)
    throw new ServiceError('conflict', 'The identity has changed its owner: try again.');
  const refresh_token = await writeRefreshToken(session);
  const pair = { keptId: other.login_user_id, givenUpId: user.login_user_id };
  const { session_id: sessionId } = session;
  const merge = await mergeLoginUsers(pair, {
    sessionId,
    afterDecision: () => putSession(session),
  });
  const refresh_token_expires_in = session.expires_at - epochSeconds();
  return { ...(await showMerge(pair, merge)), refresh_token, refresh_token_expires_in };
}

/** @throws ServiceError `unauthorized_client` for a client that may not log in by such a credential */
function requireLoginGrant(client: AuthenticatedClient, { by }: MergeForm): void {
  const grant = by === 'code' ? 'provider_authorization_code' : 'provider_credentials';
  if (mayUseGrant(client, grant)) return;
  const message = `With keep=theirs, the client gets a session of the other account, but it may not use the grant ${grant}. Send keep=mine.`;
  throw new ServiceError('unauthorized_client', message, 'grant_type_not_allowed');
}

async function showMerge(
  { keptId, givenUpId }: { keptId: string; givenUpId: string },
  { identities, identities_lost, devices, devices_lost }: Merge,
): Promise<MergedAccount> {
  annotateLog({ login_user_id: keptId });
  annotateIds({ merged_from: givenUpId });
  const shown = await showKept(keptId);
  const moved = { identities, devices };
  const lost = { identities: identities_lost, devices: devices_lost };
  return definedOnly({ ...shown, merged_from: givenUpId, moved, lost });
}

async function showKept(loginUserId: string) {
  const user = await readLoginUser(loginUserId);
  if (!user) throw deletedError();
  return showLoginUser(user);
}
