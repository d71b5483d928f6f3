import * as v from 'valibot';
import { accessOf } from '../lib/http/endpoint.ts';
import { type Invocation, withInvocation } from '../lib/log/request-fields.ts';
import { streamBatchSchema } from '../lib/publishing/changes.ts';
import { publishRecords } from '../lib/publishing/publish-records.ts';

/**
 * Rights of the function. Those on the table's stream, the event bus and the dead-letter queue come
 * with them.
 */
export const access = accessOf({ summary: 'Publishes what happened on the event bus' });

export const handler = (event: unknown, invocation: Invocation) =>
  withInvocation(invocation, () => publishRecords(v.parse(streamBatchSchema, event).Records));
