import * as v from 'valibot';
import { clock } from '../../foundation/clock.ts';
import { definedOnly } from '../../foundation/defined-only.ts';
import {
  attributesWithoutToken,
  firstIdentityId,
  type IdentityDetails,
  type LinkedIdentity,
} from '../../login-users/linked-identity.ts';
import { type LoginUser, loginUserItem } from '../../login-users/login-user.ts';
import { profileSchema } from '../../login-users/profile.ts';
import { timestampField } from '../../schema/json-schema.ts';
import { readItems } from '../../storage/items.ts';

/** An identity as its owner sees it: no id of the provider, which nobody needs here. */
export const shownIdentitySchema = v.pipe(
  v.object({
    id: v.string(),
    provider: v.string(),
    linked_at: v.pipe(timestampField, v.description('For the first identity: when the account was created.')),
    last_login_at: v.exactOptional(
      v.pipe(
        timestampField,
        v.description('Absent until the first login with an identity that was linked or imported.'),
      ),
    ),
    profile: v.exactOptional(
      v.pipe(
        profileSchema,
        v.description(
          'What the provider said of the person at the latest login with this identity, or when it was linked: the claims that the Login App keeps. Absent if there are none.',
        ),
      ),
    ),
    unverified: v.exactOptional(
      v.pipe(
        v.array(v.string()),
        v.description(
          'The claims of the profile that the app told in the parameter `user`. No provider vouches for them.',
        ),
      ),
    ),
    provider_revocation: v.exactOptional(
      v.pipe(
        v.literal(false),
        v.description(
          'False when the latest authorization code could not be exchanged: the service has no token to revoke when the person is deleted. Link the identity again with a new code.',
        ),
      ),
    ),
  }),
  v.title('Identity'),
);
export type ShownIdentity = v.InferOutput<typeof shownIdentitySchema>;

/** Every identity that a person can log in with, the one that they have had longest first. */
export async function ownIdentities(user: LoginUser): Promise<ShownIdentity[]> {
  const isConfirmed = await confirmedIds(user.linked);
  const linked = user.linked
    .filter(({ identity_id }) => isConfirmed.has(identity_id))
    .map(({ identity_id: id, provider, linked_at, ...details }) => ({
      ...{ id, provider, linked_at },
      ...shownDetails(details),
    }))
    .toSorted((a, b) => (a.linked_at < b.linked_at ? -1 : 1));
  return [...firstIdentity(user), ...linked];
}

/** The details of an identity as they are shown. What the app told is never over what the provider said. */
export function shownDetails({
  last_login_at,
  profile: said = {},
  told_by_app: told = {},
  provider_revocation,
}: IdentityDetails) {
  // The provider has verified its own address, not the one that the app told.
  const isShown = (name: string) => !(name in said || (name === 'email' && 'email_verified' in said));
  const added = Object.entries(told).filter(([name]) => isShown(name));
  const profile = { ...Object.fromEntries(added), ...said };
  return definedOnly({
    last_login_at,
    profile: Object.keys(profile).length > 0 ? profile : undefined,
    unverified: added.length > 0 ? added.map(([name]) => name) : undefined,
    provider_revocation,
  });
}

/** The ids of those among linked identities whose index items agree; an interrupted link leaves an identity without one. */
export async function confirmedIds(linked: LinkedIdentity[]): Promise<Set<unknown>> {
  // Two may have the same index item, and a batch read takes each key once.
  const slots = [...new Set(linked.map(({ slot }) => slot))];
  const items = await readItems(slots.map(loginUserItem));
  return new Set(items.map((item) => item?.identity_id));
}

/** Milliseconds that a link takes at most: its function is stopped after 10 s. */
const longestLink = 15_000;

/** Whether the link of an identity may be under way. */
export const isUnderWay = ({ linked_at }: LinkedIdentity): boolean =>
  linked_at > new Date(clock.now().getTime() - longestLink).toISOString();

/**
 * The attributes that interrupted links have left, of identities without index items. A provider's token is not among
 * them: it stays until it is revoked.
 * @param own the ids of the identities that the person has
 */
export const attributesLeft = (linked: LinkedIdentity[], own: Set<unknown>): string[] =>
  linked
    .filter((identity) => !own.has(identity.identity_id) && !isUnderWay(identity))
    .flatMap(({ identity_id }) => attributesWithoutToken(identity_id));

/** The first identity of a person, in a list; none once it is unlinked. */
function firstIdentity(user: LoginUser): ShownIdentity[] {
  const { login_user_id, provider, subject, created_at, first_used_at, first } = user;
  if (subject === undefined || provider === undefined) return [];
  const id = firstIdentityId(login_user_id);
  const details = shownDetails({ ...first, last_login_at: first_used_at });
  return [{ id, provider, linked_at: created_at, ...details }];
}

/** A person as they see themselves. */
export const shownLoginUserSchema = v.pipe(
  v.object({
    id: v.pipe(v.string(), v.description('The `sub` of their tokens.')),
    created_at: timestampField,
    last_login_at: timestampField,
    external_id: v.exactOptional(
      v.pipe(
        v.string(),
        v.description('Their id in the system that they were imported from. Absent if they were not.'),
      ),
    ),
    identities: v.pipe(
      v.array(shownIdentitySchema),
      v.description('What the person can log in with, the oldest first.'),
    ),
  }),
  v.title('LoginUser'),
);

/** A person's data as they are shown to them. */
export async function showLoginUser(user: LoginUser): Promise<v.InferOutput<typeof shownLoginUserSchema>> {
  const { login_user_id: id, created_at, last_login_at, external_id } = user;
  return definedOnly({ id, created_at, last_login_at, external_id, identities: await ownIdentities(user) });
}
