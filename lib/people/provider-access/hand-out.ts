import { epochSeconds } from '../../foundation/clock.ts';
import { definedOnly } from '../../foundation/defined-only.ts';
import { invalid, ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import { annotateIds, annotateLog } from '../../log/request-fields.ts';
import {
  identityAttributes,
  type ProviderAccess,
  type UserIdentity,
} from '../../login-users/linked-identity.ts';
import {
  blockedError,
  type LoginUser,
  loginUserIn,
  loginUserItem,
} from '../../login-users/login-user.ts';
import { keepersFor, type TokenKeeper } from '../../providers/token-audience.ts';
import { type Item, readItem } from '../../storage/items.ts';
import { isKeptFrom } from '../identities/stored-token.ts';
import { type AccessOwner, clockLeeway, loginNeeded } from './kept-access.ts';
import { currentAccess } from './refresh-access.ts';

/** A request for a provider's access token. */
interface Wanted {
  /** A provider, or one of its issuers. */
  audience: string;
  /** The identity, where the person has several there. */
  identity_id?: string | undefined;
}

/** The identity whose access is wanted, with what its settings say about it. */
type WantedOwner = AccessOwner & Pick<TokenKeeper, 'givesLongLived'>;

/** Seconds for which a token can be used at most, unless an operator has said otherwise. */
const longestUse = 3600;

const isLongLived = ({ expires_at }: ProviderAccess): boolean =>
  expires_at - epochSeconds() > longestUse + clockLeeway;

const tooLongLived = ({ provider }: AccessOwner): ServiceError =>
  new ServiceError(
    'invalid_target',
    `The access tokens of ${provider} last longer than an hour. An operator can allow that by long_lived_tokens in its settings, beside keep_tokens.`,
    'provider_token_long_lived',
  );

/**
 * An access token of a provider for a person.
 * @returns undefined when the Login App has no such person
 * @throws ServiceError `invalid_target` for an audience that keeps no tokens, or whose tokens last
 *   longer than an hour although its settings do not say so; `invalid_grant` when the person is
 *   blocked or has to log in again, `invalid_request` when it must be said which identity;
 *   `temporarily_unavailable`; ProviderFailure
 */
export async function handOutAccess(loginAppId: string, loginUserId: string, wanted: Wanted) {
  // 1. The person exists, and is not blocked.
  const [item, keepers] = await Promise.all([
    readItem(loginUserItem(loginUserId)),
    keepersFor(loginAppId, wanted.audience),
  ]);
  const user = loginUserIn(item);
  if (!item || user?.login_app_id !== loginAppId) return undefined;
  if (user.blocked_at) throw blockedError('invalid_grant');

  // 2. The settings keep tokens of the audience.
  const [keeper, ...others] = keepers;
  if (!keeper) throw new ServiceError('invalid_target', noAudience);
  annotateLog({ provider: keeper.provider });

  // 3. One identity of the person has one.
  const owner = ownerOfAccess(user, item, [keeper, ...others], wanted);
  const { identity_id, provider } = owner;
  annotateIds({ identity_id });

  // 4. It is handed out as it is, or after a refresh, unless it could be used for too long.
  const { access, refreshed } = await currentAccess(owner, item);
  if (!owner.givesLongLived && isLongLived(access)) throw tooLongLived(owner);
  const scopes = access.scopes?.join(' ');
  annotateLog(definedOnly({ provider_scopes: scopes }));
  logEvent('provider_token_issued', { identity_id, provider, refreshed });
  return access;
}

const noAudience =
  'The audience must be a provider of the Login App, or one of its issuers, whose settings have keep_tokens.';

/** The identity whose access is wanted. */
function ownerOfAccess(
  { login_user_id, identities }: LoginUser,
  item: Item,
  keepers: [TokenKeeper, ...TokenKeeper[]],
  { identity_id }: Wanted,
): WantedOwner {
  const known = identities.filter(
    (identity) => identity.identity_id === (identity_id ?? identity.identity_id),
  );
  if (identity_id !== undefined && known.length === 0)
    throw invalid('The Login User has no identity of this identity_id.');
  const found = known.flatMap((identity) => {
    const keeper = keepers.find((one) => isKeptBy(one, identity, item));
    return keeper ? { keeper, identity } : [];
  });
  const [first, ...others] = found;
  if (!first) throw loginNeeded(keepers[0].provider);
  if (others.length > 0) {
    const ids = found.map(({ identity }) => identity.identity_id).join(', ');
    throw invalid(
      `The Login User has several identities there; identity_id must be one of ${ids}.`,
    );
  }
  const { provider, givesLongLived } = first.keeper;
  const owner = { login_user_id, identity_id: first.identity.identity_id };
  return { ...owner, provider, givesLongLived };
}

/** Whether an exchange keeps a token with an identity. */
function isKeptBy(
  { tenant, ...source }: TokenKeeper,
  { identity_id, namespace, provider_access }: UserIdentity,
  item: Item,
): boolean {
  if (!provider_access || (tenant !== undefined && tenant !== namespace)) return false;
  return isKeptFrom(source, item[identityAttributes.providerToken(identity_id)]);
}
