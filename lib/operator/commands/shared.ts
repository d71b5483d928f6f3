// Flags that commands of several nouns accept, and how commands find what these flags name.

import { readAccessRequest } from '../../access-requests/access-request.ts';
import { readAccount } from '../../access-requests/account.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { platforms } from '../../login-apps/client-metadata.ts';
import { readLoginApp } from '../../login-apps/login-app.ts';
import { readLoginUser } from '../../login-users/login-user.ts';
import { providerIds } from '../../providers/provider-ids.ts';
import { choice, id, number, optional, text } from '../command.ts';

export const loginApp = id('la_…', 'The Login App', 'login-apps list or login-apps find');
export const account = id('ac_…', 'The account', 'accounts list or accounts find');
export const accessRequest = number('The id of the access request');
export const loginUser = id('lu_…', 'The Login User: the sub of their tokens', 'login-users find');
export const provider = choice(providerIds, 'The provider');
export const platform = choice(platforms, 'The platform');
export const secretOf = (from: string) => id('sec_…', 'The secret', from);
export const secretTo = {
  'secret-to': 'Write the secret to this new file, which only you can read, instead of showing it (optional)',
};
export const nextPage = 'The "next" of the previous page';
export const after = optional(text(nextPage));
export const namePrefix = text('How its name begins, in upper or lower case');
export const name = text('A name for people to recognise it by');
export const client = id('la_….c_…', 'The client', 'clients list');

/** Something that a command found or changed. @throws ServiceError when there is none: it is undefined, or false */
export function existing<Found>(found: Found | undefined | false, kind: string): Found {
  if (found === undefined || found === false)
    throw new ServiceError('not_found', `There is no such ${kind}.`);
  return found;
}

export const requireLoginApp = async (id: string) => existing(await readLoginApp(id), 'Login App');
export const requireLoginUser = async (id: string) => existing(await readLoginUser(id), 'Login User');
export const requireAccount = async (id: string) => existing(await readAccount(id), 'account');
export const requireAccessRequest = async (id: number) =>
  existing(await readAccessRequest(id), 'access request');

/** Something of a Login App's. @throws ServiceError naming those that it has, when this is undefined or false */
export function existingOf<Found>(
  names: Iterable<string>,
  found: Found | undefined | false,
  kind: string,
): Found {
  if (found !== undefined && found !== false) return found;
  const known = [...names].join(', ') || 'none';
  throw new ServiceError('not_found', `The Login App has no ${kind}; it has ${known}.`);
}

/** Whether a Login App or an account is disabled, and since when, as an operator sees it. */
export const disabledSince = (disabled_at: string | undefined) => ({
  disabled: disabled_at !== undefined,
  disabled_at,
});
