import * as v from 'valibot';
import { idForms } from '../lib/foundation/ids.ts';
import { anybody } from '../lib/http/auth/credentials.ts';
import { json } from '../lib/http/body.ts';
import { noContent, serve } from '../lib/http/serve.ts';
import { receiveNotification } from '../lib/people/deletion/receive-notification.ts';
import { providerIds } from '../lib/providers/provider-ids.ts';
import { once } from '../lib/schema/form-parameters.ts';
import { jsonSchema } from '../lib/schema/json-schema.ts';
import { invalidRequest, keyRequired } from '../lib/schema/validation.ts';

const notificationSchema = v.object(
  { payload: v.pipe(v.string('payload must be a string.'), v.nonEmpty('payload must not be empty.')) },
  ({ input, ...issue }) =>
    input instanceof Object || issue.path
      ? keyRequired()({ input, ...issue })
      : 'The body must be a JSON object.',
);

const loginAppRequired = 'The query parameter login_app_id must be the id of a Login App.';

export const { endpoint, handler } = serve({
  method: 'POST',
  path: '/v2/marketing/providers/{provider}/notifications',
  summary: 'Receives notifications of an identity provider about a person',
  description:
    'For Sign in with Apple: register this address at Apple, with the id of the Login App in the query. The payload is verified like an id token. When a person revokes their consent or deletes their Apple account, the service ends their sessions or deletes them, as the provider settings say. Other notifications change nothing.',
  tag: 'People',
  authenticate: anybody,
  parameters: {
    path: {
      provider: v.pipe(
        v.picklist(providerIds, `The provider must be one of ${providerIds.join(', ')}.`),
        v.description('The provider whose settings name the issuer.'),
      ),
    },
    query: {
      login_app_id: v.pipe(
        v.optional(once('login_app_id', v.pipe(v.string(), v.regex(idForms['la_…'], loginAppRequired))), [
          '',
        ]),
        jsonSchema({ type: 'string', pattern: idForms['la_…'].source }),
        v.description('The Login App.'),
      ),
    },
  },
  body: json(notificationSchema, invalidRequest),
  responses: { 204: { description: 'The notification has been received.' } },
  errors: {
    invalid_request: {
      when: 'The payload is missing, or not a notification of this provider for this Login App. Or the provider is not set up for the Login App.',
      example: 'The payload is not a notification of this provider for this Login App.',
    },
  },
  table: {
    GetItem: ['login_apps', 'issuer_keys', 'login_users', 'devices'],
    BatchGetItem: ['devices'],
    Query: ['login_users', 'devices'],
    PutItem: ['login_users'],
    UpdateItem: ['login_users', 'devices'],
    DeleteItem: ['login_users'],
  },
  secrets: ['provider-settings'],
  example: {
    path: { provider: 'provider_f' },
    query: { login_app_id: `la_${'A'.repeat(22)}` },
    body: { payload: 'PROVIDER_NOTIFICATION' },
  },
  handle: async ({ path, query, body }) => {
    await receiveNotification(query.login_app_id, path.provider, body.payload);
    return noContent();
  },
});
