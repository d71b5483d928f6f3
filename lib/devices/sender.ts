import type { ErrorRecord } from '../errors/service-error.ts';
import { requireEnabled, requireMoreThanIntrospection } from '../login-apps/client-rights.ts';
import type { AuthenticatedClient } from '../login-apps/clients.ts';

/** The error of a client that may not send. */
export const noSender: ErrorRecord = {
  when: 'The client may only introspect tokens, or the Login App is disabled.',
  example: 'The client may only introspect tokens.',
};

/**
 * The Login App to whose devices a client may send.
 * @throws ServiceError `unauthorized_client` for a client that may only introspect, and while the Login App is disabled
 */
export async function loginAppOfSender(client: AuthenticatedClient): Promise<string> {
  requireMoreThanIntrospection(client);
  await requireEnabled(client.loginAppId);
  return client.loginAppId;
}
