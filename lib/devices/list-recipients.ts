import * as v from 'valibot';
import { invalid } from '../foundation/service-error.ts';
import { platforms } from '../login-apps/client-metadata.ts';
import type { AuthenticatedClient } from '../login-apps/clients.ts';
import { readCursor, writeCursor } from '../schema/cursor.ts';
import { queryChoice, queryInteger, queryText } from '../schema/form-parameters.ts';
import { described } from '../schema/json-schema.ts';
import { loginUserKey } from '../storage/keys.ts';
import { isItemOf } from '../storage/lists.ts';
import { shardNumberOf, shards } from '../storage/table.ts';
import {
  loginAppOfSender,
  recipientSchema,
  recipientsOfLoginApp,
  recipientsOfLoginUser,
  shardPositionSchema,
  toRecipient,
} from './recipients.ts';

export const recipientsQuery = {
  login_user_id: queryText('login_user_id', 'Devices of this person. Either this or `shard`.'),
  shard: queryInteger(
    'shard',
    [0, shards.length - 1],
    'Devices of this shard: each device of the Login App is in one of the 16.',
  ),
  limit: queryInteger('limit', [1, 1_000], 'With `shard`: how many devices a page has at most.', {
    default: 100,
  }),
  cursor: queryText(
    'cursor',
    'With `shard`: the `next_cursor` of the page before, with the same `shard` and `platform`.',
  ),
  platform: queryChoice('platform', platforms, 'Only devices of this platform.'),
};
type RecipientsQuery = v.InferOutput<v.ObjectSchema<typeof recipientsQuery, undefined>>;

export const recipientListSchema = v.object({
  recipients: v.array(recipientSchema),
  next_cursor: described(
    v.optional(v.string()),
    'The `cursor` of the next page; absent on the last one.',
  ),
});

type RecipientList = v.InferOutput<typeof recipientListSchema>;

/**
 * The devices of a person or of a shard that messages go to. A person of another Login App has
 * none, at the cost of an unknown one.
 * @throws ServiceError as `loginAppOfSender` does, and `invalid_request` unless the query names
 *   either a person or a shard, with `limit` and `cursor` for a shard alone
 */
export async function listRecipients(
  client: AuthenticatedClient,
  query: RecipientsQuery,
): Promise<RecipientList> {
  const { login_user_id, shard, limit, cursor, platform } = query;
  const loginAppId = await loginAppOfSender(client);
  if (login_user_id === undefined && shard !== undefined)
    return listShard(loginAppId, shard, query);
  if (login_user_id === undefined || shard !== undefined)
    throw invalid('Send either the parameter login_user_id or the parameter shard.');
  if (limit !== undefined || cursor !== undefined)
    throw invalid('The parameters limit and cursor go with the parameter shard.');

  const isTheirs = await isItemOf(loginAppId, loginUserKey(login_user_id));
  if (!isTheirs) return { recipients: [] };
  const devices = await recipientsOfLoginUser(login_user_id);
  const wanted = devices
    .filter((one) => one.login_app_id === loginAppId)
    .filter((one) => platform === undefined || one.platform === platform);
  return { recipients: wanted.map(toRecipient) };
}

async function listShard(
  loginAppId: string,
  shard: number,
  { limit = 100, cursor, platform }: RecipientsQuery,
): Promise<RecipientList> {
  const of = [loginAppId, platform ?? null];
  const after = readCursor(positionIn(shard), cursor, of, 'shard and platform');
  const page = await recipientsOfLoginApp(loginAppId, shard, { limit, after, platform });
  const next_cursor = page.next && writeCursor(page.next, of);
  return { recipients: page.recipients.map(toRecipient), next_cursor };
}

/** A position in one shard, which the id of the device tells. */
const positionIn = (shard: number) =>
  v.pipe(
    shardPositionSchema,
    v.check(({ device_id }) => shardNumberOf(device_id) === shard),
  );
