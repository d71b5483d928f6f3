import { ServiceError } from '../foundation/service-error.ts';
import type { AuthenticatedClient } from './clients.ts';
import { findStatus } from './status.ts';

/** @throws ServiceError `unauthorized_client` for a client that may use no grant: it may only introspect */
export function requireMoreThanIntrospection({ grantTypes }: AuthenticatedClient): void {
  if (grantTypes?.length !== 0) return;
  throw new ServiceError('unauthorized_client', 'The client may only introspect tokens.', {
    reason: 'grant_type_not_allowed',
  });
}

/** @throws ServiceError `unauthorized_client` while the Login App is disabled */
export async function requireEnabled(loginAppId: string): Promise<void> {
  if ((await findStatus(loginAppId)).isEnabled) return;
  throw new ServiceError('unauthorized_client', 'The Login App is disabled.', {
    reason: 'login_app_disabled',
  });
}
