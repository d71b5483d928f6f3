import {
  type IdentityAttributes,
  identityAttributes,
  type VerifiedIdentity,
} from '../../login-users/linked-identity.ts';

/**
 * The attributes of a person that a login or a link with an identity sets, but for the provider's
 * token. Claims from the app stay until there are newer ones: Apple gives them once.
 */
export function attributesOfVerified(
  identityId: string,
  { profile, told_by_app, code }: VerifiedIdentity,
): IdentityAttributes {
  const set: IdentityAttributes = {};
  set[identityAttributes.profile(identityId)] = profile;
  if (told_by_app) set[identityAttributes.toldByApp(identityId)] = told_by_app;
  const hasFailed = code === 'not_exchanged' ? true : undefined;
  if (code) set[identityAttributes.codeFailed(identityId)] = hasFailed;
  return set;
}
