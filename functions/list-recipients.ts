import {
  listRecipients,
  recipientListSchema,
  recipientsQuery,
} from '../lib/devices/list-recipients.ts';
import { sender } from '../lib/http/auth/sender.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { senderErrors } from './shared/errors.ts';

export const { endpoint, handler } = serve({
  route: 'GET /v2/marketing/push_notifications/recipients',
  isBusy: true,
  authenticate: sender,
  parameters: { query: recipientsQuery },
  table: {
    login_users: ['BatchGetItem', 'Query'],
    devices: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
  },
  handle: async ({ caller, query }) => ok(await listRecipients(caller, query)),
  document: !process.env.BUNDLED && {
    summary: 'Lists the devices that messages go to',
    description:
      'For servers that send push notifications. With `login_user_id`, the active devices of a person: at most 20. With `shard`, one page of the active devices in that shard, linked to a person or not, the one seen least recently first. Read all 16 shards for all devices, side by side if you like. As long as nothing changes, each device comes once; one that registers meanwhile may come again. With `platform`, a page may be shorter than `limit`, or empty, before the last one: the other devices are read, too. The tokens are secret: whoever has one and your push credentials can send to the device.',
    tag: 'Devices',
    responses: {
      200: {
        description:
          'The devices. Fields that are not known of a device are left out; only devices with an APNs token have an `environment`.',
        body: recipientListSchema,
        example: {
          recipients: [
            {
              device_id: 'd_XwZ30yeACRUPZ7uhn2HMRtKmP4tggv6G4s-UnQ2ff4M',
              platform: 'ios',
              token_type: 'apns',
              token: '740f4707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad',
              environment: 'production',
              locale: 'de-AT',
              app_version: '4.2.0',
              last_seen_at: '2026-01-31T08:00:00.000Z',
              login_user_id: 'lu_loI20-mhluRYq9pU3Yw8Zt5nVbEg2m0c1KfXq2m0c1',
            },
          ],
        },
        links: {
          Disable: {
            operationId: 'disable-device',
            description:
              'When the push service reports the token of a device as dead; here, of the first one.',
            parameters: { device_id: '$response.body#/recipients/0/device_id' },
          },
        },
      },
    },
    errors: {
      invalid_request: {
        when: 'A parameter is malformed, repeated or unknown, the cursor belongs to another query, or the query has both or neither of `login_user_id` and `shard`.',
        example: 'Send either the parameter login_user_id or the parameter shard.',
      },
      ...senderErrors,
    },
    example: { query: { shard: '0', limit: '100' } },
  },
});
