import { readAccessRequest } from '../../access-requests/access-request.ts';
import { readAccount } from '../../access-requests/account.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { readLoginApp } from '../../login-apps/login-app.ts';
import { readLoginUser } from '../../login-users/login-user.ts';

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
