import { logEvent } from '../../log/log.ts';
import { annotateLog } from '../../log/request-fields.ts';
import { type LoginUser, readLoginUser } from '../../login-users/login-user.ts';
import { type Notification, verifyNotification } from '../../providers/oidc/notification.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { issuersIn } from '../../providers/settings/issuers.ts';
import { findProviderSettingsForAnybody, notSetUp } from '../../providers/settings/stored.ts';
import {
  confirmedOwner,
  findIndexItem,
  type IdentityIndexItem,
  type Owner,
} from '../identities/identity-index.ts';
import { endSessionsBegunBy } from '../sessions/end-sessions.ts';
import { deleteLoginUser, hasBegun } from './delete-login-user.ts';

/**
 * Does what the provider settings say when an issuer tells that a person has revoked their consent, or deleted their
 * account there. A notification from before the latest login with the identity is ignored: the person has consented again
 * since, or somebody repeats an old one. For the same reason a session that began after the notification goes on.
 * @throws ServiceError `invalid_request` for one that is not the provider's, ProviderFailure
 */
export async function receiveNotification(loginAppId: string, provider: ProviderId, payload: string) {
  const stored = await findProviderSettingsForAnybody(loginAppId, provider);
  const { idTokens } = issuersIn(stored?.settings);
  if (idTokens.length === 0) throw notSetUp(provider);
  annotateLog({ login_app_id: loginAppId, provider });
  const notification = await verifyNotification(idTokens, payload);
  const done = notification && (await act(loginAppId, notification));
  annotateLog({ outcome: done?.outcome ?? 'ignored' });
  if (done) logEvent('provider_notified', done);
}

async function act(loginAppId: string, { kind, person, issuedAt, action }: Notification) {
  const indexItem = await findIndexItem(loginAppId, person);
  const owner = await confirmedOwner(indexItem);
  const user = owner && (await readLoginUser(owner.loginUserId));
  const finished = await finishDeletionsAt(indexItem, owner);
  const login_user_id = user?.login_user_id ?? finished;
  if (login_user_id === undefined) return { kind, outcome: 'person_unknown' } as const;
  annotateLog({ login_user_id });
  if (!owner || !user) return { kind, outcome: 'deleted', login_user_id } as const;
  if (issuedAt < latestLogin(user, owner)) return { kind, outcome: 'outdated', login_user_id } as const;
  // Deleting a blocked person would let them in again, as somebody new.
  if (action === 'delete' && !user.blocked_at) {
    await deleteLoginUser(login_user_id, 'provider');
    return { kind, outcome: 'deleted', login_user_id } as const;
  }
  await endSessionsBegunBy(login_user_id, 'provider', issuedAt);
  return { kind, outcome: 'sessions_ended', login_user_id } as const;
}

/**
 * Finishes the deletions that were interrupted of people who had the identity: an issuer that got no answer sends its
 * notification again. Returns the id of the last of these people.
 */
async function finishDeletionsAt(
  indexItem: IdentityIndexItem,
  owner: Owner | undefined,
): Promise<string | undefined> {
  const former = owner ? undefined : indexItem.owner?.loginUserId;
  const isUnfinished = former !== undefined && (await hasBegun(former));
  const ids = [...indexItem.unfinished, ...(isUnfinished ? [former] : [])];
  let finished: string | undefined;
  for (const id of ids) if (await deleteLoginUser(id, 'provider')) finished = id;
  return finished;
}

/** Epoch seconds of the latest login with the identity, or of when it was linked or imported. */
function latestLogin({ linked, first_used_at, created_at }: LoginUser, { identityId }: Owner): number {
  const identity = linked.find(({ identity_id }) => identity_id === identityId);
  const latest = identity ? (identity.last_login_at ?? identity.linked_at) : (first_used_at ?? created_at);
  return Math.floor(Date.parse(latest) / 1000);
}
