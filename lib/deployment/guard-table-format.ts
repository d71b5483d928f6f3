import * as v from 'valibot';
import { recordFormat, requireReadableFormat, UnreadableFormat } from '../storage/table-format.ts';
import { customResourceRequestSchema, respond } from './cloudformation.ts';

/** `check` comes before the new code gets requests, `record` after it. */
const propertiesSchema = v.object({ Step: v.picklist(['check', 'record']) });

/**
 * A custom resource that lets a deployment go on only if its code can read the table, and one that notes the format in
 * which the code writes. Any other error is thrown: Lambda then tries again twice, which a role that is new may need.
 */
export async function guardTableFormat(event: unknown): Promise<void> {
  const request = v.parse(customResourceRequestSchema, event);
  if (request.RequestType === 'Delete') return respond(request, undefined);
  const { Step } = v.parse(propertiesSchema, request.ResourceProperties);
  try {
    await (Step === 'check' ? requireReadableFormat() : recordFormat());
  } catch (error) {
    if (!(error instanceof UnreadableFormat)) throw error;
    return respond(request, error.message);
  }
  return respond(request, undefined);
}
