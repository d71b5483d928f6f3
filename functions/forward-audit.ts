import * as v from 'valibot';
import { requireEnvironmentInLambda } from '../lib/foundation/environment.ts';
import type { Access } from '../lib/http/endpoint.ts';
import { deliverySchema, forwardAuditLines } from '../lib/release/forward-audit.ts';

/** Rights of the function. The right to write to the audit log group comes with the group itself. */
export const access: Access = {
  summary: 'Copies audit lines to the audit log group',
  table: {},
};

requireEnvironmentInLambda();
export const handler = (event: unknown): Promise<void> => forwardAuditLines(v.parse(deliverySchema, event));
