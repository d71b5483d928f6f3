import { ServiceError } from '../../errors/service-error.ts';
import { type LoginApp, readLoginApp } from '../../login-apps/login-app.ts';

/** The Login App of a command. @throws ServiceError when there is none */
export async function requireLoginApp(id: string): Promise<LoginApp> {
  const found = await readLoginApp(id);
  if (!found) throw noSuchLoginApp();
  return found;
}

export const noSuchLoginApp = (): ServiceError =>
  new ServiceError('not_found', 'There is no such Login App.');

/** Names in a sentence. */
export const inWords = (names: Iterable<string>): string => [...names].join(', ') || 'none';
