import { accessOf } from '../lib/http/endpoint.ts';
import { type Invocation, withInvocation } from '../lib/log/request-fields.ts';
import { forwardAuditLines } from '../lib/release/forward-audit.ts';

/**
 * Rights of the function. The right to write to the audit log group comes with the group itself.
 */
export const access = accessOf({ summary: 'Copies audit lines to the audit log group' });

export const handler = (event: unknown, invocation: Invocation): Promise<void> =>
  withInvocation(invocation, () => forwardAuditLines(event));
