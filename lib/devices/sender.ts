import { type ErrorRecord, ServiceError } from '../foundation/service-error.ts';
import { requireEnabled } from '../login-apps/client-rights.ts';
import type { AuthenticatedClient } from '../login-apps/clients.ts';

/** The errors of a client that may not send. */
export const senderErrors = {
  unauthorized_client: { when: 'The Login App is disabled.', example: 'The Login App is disabled.' },
  forbidden: {
    when: 'The grants of the client are limited, and an operator has not allowed it to read recipients.',
    example: 'The client may not read recipients.',
  },
} satisfies Record<string, ErrorRecord>;

/**
 * The Login App to whose devices a client may send.
 * @throws ServiceError `forbidden` for a client that may not read recipients, `unauthorized_client` while the Login App is
 *   disabled
 */
export async function loginAppOfSender({ loginAppId, mayReadRecipients }: AuthenticatedClient) {
  if (!mayReadRecipients) throw new ServiceError('forbidden', senderErrors.forbidden.example);
  await requireEnabled(loginAppId);
  return loginAppId;
}
