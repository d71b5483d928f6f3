import type { ErrorRecord } from '../../lib/foundation/service-error.ts';

/** The errors of a client that may not send push notifications. */
export const senderErrors = {
  unauthorized_client: { when: 'The Login App is disabled.', example: 'The Login App is disabled.' },
  forbidden: {
    when: 'The grants of the client are limited, and an operator has not allowed it to read recipients.',
    example: 'The client may not read recipients.',
  },
} satisfies Record<string, ErrorRecord>;
