import * as v from 'valibot';
import { requireEnvironmentInLambda } from '../lib/foundation/environment.ts';
import type { Access } from '../lib/http/endpoint.ts';
import { streamBatchSchema } from '../lib/publishing/changes.ts';
import { publishRecords } from '../lib/publishing/publish-records.ts';

/** Rights of the function. Those on the table's stream, the event bus and the dead-letter queue come with them. */
export const access: Access = { summary: 'Publishes what happened on the event bus', table: {} };

requireEnvironmentInLambda();
export const handler = (event: unknown) => publishRecords(v.parse(streamBatchSchema, event).Records);
