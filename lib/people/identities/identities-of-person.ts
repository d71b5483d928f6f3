import * as v from 'valibot';
import { definedOnly } from '../../foundation/defined-only.ts';
import type { UserIdentity } from '../../login-users/linked-identity.ts';
import {
  type AuthenticatedUser,
  guestClaim,
  type LoginUser,
  requireActiveUser,
} from '../../login-users/login-user.ts';
import { profileSchema } from '../../login-users/profile.ts';
import { described, textField, timestampField } from '../../schema/json-schema.ts';

/** An identity as its owner sees it. */
export const shownIdentitySchema = v.pipe(
  v.object({
    id: v.string(),
    provider: v.string(),
    linked_at: described(timestampField, 'For the first identity: when the account was created.'),
    last_login_at: v.exactOptional(
      described(
        timestampField,
        'Absent until the first login with an identity that was linked or imported.',
      ),
    ),
    profile: v.exactOptional(
      described(
        profileSchema,
        'What the provider said of the person at the latest login with this identity, or when it was linked: the claims that the Login App keeps. Absent if there are none.',
      ),
    ),
    unverified: v.exactOptional(
      described(
        v.array(v.string()),
        'The claims of the profile that the app sent in the parameter `user`. No provider has verified them.',
      ),
    ),
    provider_revocation: v.exactOptional(
      described(
        v.literal(false),
        'False when the latest authorization code could not be exchanged: the service has no token to revoke when the person is deleted. Link the identity again with a new code.',
      ),
    ),
    provider_access: v.exactOptional(
      described(
        v.pipe(
          v.object({
            scopes: v.exactOptional(
              described(v.array(v.string()), 'Absent if the provider has not told them.'),
            ),
            since: described(timestampField, 'The login or the link that brought the token.'),
          }),
          v.title('ProviderAccess'),
        ),
        "What the company's servers may do at the provider for the person: the service keeps a refresh token of it. Absent if it keeps none. Unlinking the identity ends it.",
      ),
    ),
  }),
  v.title('Identity'),
);

export function shownIdentity(identity: UserIdentity): v.InferOutput<typeof shownIdentitySchema> {
  const { identity_id: id, profile: ofProvider = {}, told_by_app: ofApp = {} } = identity;
  // The provider's claims win, and the address that it has verified is its own.
  const isOfProvider = (name: string): boolean => {
    if (name in ofProvider) return true;
    return name === 'email' && 'email_verified' in ofProvider;
  };
  const unverified = Object.entries(ofApp).filter(([name]) => !isOfProvider(name));
  const profile = { ...Object.fromEntries(unverified), ...ofProvider };
  const shown = definedOnly({
    ...identity,
    id,
    profile: Object.keys(profile).length > 0 ? profile : undefined,
    unverified: unverified.length > 0 ? unverified.map(([name]) => name) : undefined,
  });
  return v.parse(shownIdentitySchema, shown);
}

export const shownLoginUserSchema = v.pipe(
  v.object({
    id: textField('The `sub` of their tokens.'),
    created_at: timestampField,
    last_login_at: timestampField,
    external_id: v.exactOptional(
      textField('Their id in the system that they were imported from. Absent if they were not.'),
    ),
    guest: v.exactOptional(
      described(v.literal(true), 'For a guest, who has linked no identity yet.'),
    ),
    merged_into: v.exactOptional(
      textField(
        'For a guest who was merged: the Login User who has what the guest had. Ten minutes later, the token is not accepted any more.',
      ),
    ),
    identities: described(
      v.array(shownIdentitySchema),
      'What the person can log in with, the oldest first. A guest has none.',
    ),
  }),
  v.title('LoginUser'),
);

/** @param merged_into set for a guest who was merged */
export function showLoginUser(
  user: LoginUser,
  merged_into?: string,
): v.InferOutput<typeof shownLoginUserSchema> {
  const { login_user_id: id, created_at, last_login_at, external_id } = user;
  const identities = user.identities.map(shownIdentity);
  const guest = guestClaim(user);
  return definedOnly({
    id,
    created_at,
    last_login_at,
    external_id,
    guest,
    merged_into,
    identities,
  });
}

/**
 * The person of a token, as they see themselves.
 * @throws ServiceError as `requireActiveUser` does. A guest who was merged is shown for ten minutes
 */
export function showCaller(caller: AuthenticatedUser): v.InferOutput<typeof shownLoginUserSchema> {
  const { guest, merged_into } = caller.merged ?? {};
  return guest ? showLoginUser(guest, merged_into) : showLoginUser(requireActiveUser(caller));
}

/** The identities that a person can log in with, as an operator sees them. */
export const identitiesOf = ({ identities }: LoginUser): Record<string, unknown>[] =>
  identities.map((identity) => ({
    ...shownIdentity(identity),
    namespace: identity.namespace,
    subject: identity.subject,
  }));
