import * as v from 'valibot';
import { accessOf } from '../lib/http/endpoint.ts';
import { deliverySchema, forwardAuditLines } from '../lib/release/forward-audit.ts';

/** Rights of the function. The right to write to the audit log group comes with the group itself. */
export const access = accessOf({
  summary: 'Copies audit lines to the audit log group',
});

export const handler = (event: unknown): Promise<void> => forwardAuditLines(v.parse(deliverySchema, event));
