// Flags that commands of several nouns accept.

import { readAccessRequest } from '../../access-requests/access-request.ts';
import { readAccount } from '../../access-requests/account.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { platforms } from '../../login-apps/client-metadata.ts';
import { readLoginApp } from '../../login-apps/login-app.ts';
import type { LoginUser } from '../../login-users/login-user.ts';
import { followForward } from '../../login-users/merged-user.ts';
import { providerIds } from '../../providers/provider-ids.ts';
import { choice, found, id, number, onOff, optional, text } from '../command.ts';

// A command that takes `loginAppId` gets the id as it was typed. One that takes `loginApp` gets the
// Login App itself, and never runs when there is none. So it is with the pairs that follow.
export const loginAppId = id('la_…', 'The Login App', 'login-apps list or login-apps find');
export const loginApp = found(loginAppId, 'Login App', readLoginApp);

export const accountId = id('ac_…', 'The account', 'accounts list or accounts find');
export const account = found(accountId, 'account', readAccount);

const accessRequestId = number('The id of the access request');
export const accessRequest = found(accessRequestId, 'access request', readAccessRequest);

const loginUserHelp = 'The Login User: the sub of their tokens';
export const loginUserId = id('lu_…', loginUserHelp, 'login-users find');
export const loginUser = found(loginUserId, 'Login User', readUnlessMerged);

/** @throws ServiceError naming the Login User into whom this one was merged */
async function readUnlessMerged(loginUserId: string): Promise<LoginUser | undefined> {
  const { id, user } = await followForward(loginUserId);
  if (id === loginUserId) return user;
  throw new ServiceError('not_found', `The Login User was merged into ${id}: name that one.`);
}

export const client = id('la_….c_…', 'The client', 'clients list');
export const secretOf = (from: string) => id('sec_…', 'The secret', from);

export const provider = choice(providerIds, 'The provider');
export const platform = choice(platforms, 'The platform');
export const name = text('A name for people to recognise it by');

/** The beginning of a name, for `find`. */
export const namePrefix = text('How its name begins, in upper or lower case');

/** The help of a flag that takes the `next` of a page, whatever the flag is called. */
export const nextPage = 'The "next" of the previous page';

/** The flag for the next page of a list. */
export const after = optional(text(nextPage));

/** For commands that import a file. */
export const dryRun = onOff('Change nothing: compare the lines with what is there, and count them');

/** The flag for a file, of commands that create a secret. */
export const secretTo = {
  'secret-to':
    'Write the secret to this new file, which only you can read, instead of showing it (optional)',
};

/**
 * A part of a Login App, such as one of its clients.
 * @param existing the names of all such parts, for the error
 * @param part undefined or false if the Login App has no such part
 * @param kind words for the part, which follow "The Login App has no"
 * @throws ServiceError when the Login App has no such part
 */
export function existingOf<Part>(
  existing: Iterable<string>,
  part: Part | undefined | false,
  kind: string,
): Part {
  if (part) return part;
  const names = [...existing].join(', ');
  throw new ServiceError('not_found', `The Login App has no ${kind}; it has ${names || 'none'}.`);
}
