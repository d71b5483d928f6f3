import * as v from 'valibot';
import { isOfLoginApp } from '../login-users/people-of-login-app.ts';
import { recipientSchema, recipientsOfLoginApp, recipientsOfLoginUser, toRecipient } from './recipients.ts';
import { readCursor, writeCursor } from './recipients-cursor.ts';
import type { RecipientsRequest } from './recipients-request.ts';

/** Devices that a sender may send to; with a shard, one page of them. */
export const recipientListSchema = v.object({
  recipients: v.array(recipientSchema),
  next_cursor: v.pipe(
    v.optional(v.string()),
    v.description('The `cursor` of the next page; absent on the last one.'),
  ),
});
type RecipientList = v.InferOutput<typeof recipientListSchema>;

/**
 * The devices of a person or of a shard that messages go to. A person of another Login App has none; asking for one
 * costs as much as asking for somebody unknown.
 * @throws ServiceError `invalid_request` for a cursor that is not of this query
 */
export async function listRecipients(loginAppId: string, request: RecipientsRequest): Promise<RecipientList> {
  const { platform } = request;
  if ('login_user_id' in request) {
    if (!(await isOfLoginApp(request.login_user_id, loginAppId))) return { recipients: [] };
    const devices = await recipientsOfLoginUser(request.login_user_id);
    const own = devices.filter((one) => one.login_app_id === loginAppId);
    const wanted = own.filter((one) => platform === undefined || one.platform === platform);
    return { recipients: wanted.map(toRecipient) };
  }
  const { shard, limit, cursor } = request;
  const scope = { loginAppId, shard, platform };
  const after = cursor === undefined ? undefined : readCursor(scope, cursor);
  const { recipients, next } = await recipientsOfLoginApp(loginAppId, shard, { limit, after, platform });
  return { recipients: recipients.map(toRecipient), ...(next && { next_cursor: writeCursor(scope, next) }) };
}
