import { disableRecipient } from '../lib/devices/recipients.ts';
import { sender } from '../lib/http/auth/sender.ts';
import { noContent, serve } from '../lib/http/serve.ts';
import { textField } from '../lib/schema/json-schema.ts';
import { senderErrors } from './shared/errors.ts';

export const { endpoint, handler } = serve({
  route: 'DELETE /v2/marketing/push_notifications/devices/{device_id}',
  authenticate: sender,
  parameters: { path: { device_id: textField('The `device_id` of the recipient.') } },
  table: { devices: ['GetItem', 'UpdateItem'] },
  handle: ({ caller, path }) => noContent(disableRecipient(caller, path.device_id)),
  document: !process.env.BUNDLED && {
    summary: 'Stops messages to a device whose token is dead',
    description:
      'For servers that send push notifications: call it when the push service says that it no longer knows the token. The device is no longer listed for sending until it registers again.',
    tag: 'Devices',
    responses: {
      204: {
        description: 'The device gets no more messages. Sending the request again changes nothing.',
      },
    },
    errors: {
      ...senderErrors,
      not_found: {
        when: 'The Login App has no such device.',
        example: 'The Login App has no such device.',
      },
    },
    example: { path: { device_id: `d_${'A'.repeat(43)}` } },
  },
});
