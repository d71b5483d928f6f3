import * as v from 'valibot';
import { idForms } from '../lib/foundation/ids.ts';
import { anybody } from '../lib/http/auth/credentials.ts';
import { form, json, securityEventToken } from '../lib/http/body.ts';
import { accepted, noContent, ok, serve } from '../lib/http/serve.ts';
import { receiveNotification } from '../lib/people/notifications/receive-notification.ts';
import type { Message } from '../lib/people/notifications/verify-message.ts';
import { securityEventError } from '../lib/providers/notifications/answers.ts';
import { providerIds } from '../lib/providers/provider-ids.ts';
import { once, optional, queryChoice } from '../lib/schema/form-parameters.ts';
import { described, jsonSchema } from '../lib/schema/json-schema.ts';
import { invalidRequest, keyRequired } from '../lib/schema/validation.ts';
import { notificationsPath } from '../lib/tokens/issuer.ts';

/** Twice the longest credential that is read. */
const mostBytes = 32 * 1024;

const appleSchema = v.pipe(
  v.object(
    {
      payload: v.pipe(
        v.string('payload must be a string.'),
        v.nonEmpty('payload must not be empty.'),
      ),
    },
    (issue) => (issue.path ? keyRequired()(issue) : 'The body must be a JSON object.'),
  ),
  v.transform(({ payload }): Message => ({ form: 'payload', text: payload.trim() })),
);

const securityEventSchema = v.pipe(
  v.string('The body is missing.'),
  v.nonEmpty('The body is missing.'),
  // Some senders end the body with a line feed.
  v.transform((token): Message => ({ form: 'secevent', text: token.trim() })),
);

const formSchema = v.pipe(
  v.object({ logout_token: optional('logout_token'), signed_request: optional('signed_request') }),
  v.rawTransform(({ dataset: { value }, addIssue, NEVER }): Message => {
    const logout_token = value.logout_token?.trim();
    const signed_request = value.signed_request?.trim();
    if (logout_token && !signed_request) return { form: 'logout_token', text: logout_token };
    if (signed_request && !logout_token) return { form: 'signed_request', text: signed_request };
    addIssue({ message: 'Send either the parameter logout_token or signed_request.' });
    return NEVER;
  }),
);

const receiptSchema = v.pipe(
  v.object({
    url: described(v.optional(v.string()), 'Where the person can read about it.'),
    confirmation_code: described(v.optional(v.string()), 'The code to quote.'),
  }),
  v.title('NotificationReceipt'),
);

/** The response to each kind of message. */
const answers = {
  payload: () => noContent(),
  secevent: accepted,
  logout_token: () => ok({}),
  signed_request: (receipt: v.InferOutput<typeof receiptSchema> = {}) => ok(receipt),
};

const loginAppIdSchema = v.pipe(
  v.string(),
  v.regex(idForms['la_…'], 'The query parameter login_app_id must be the id of a Login App.'),
);

export const { endpoint, handler } = serve({
  route: `POST ${notificationsPath}`,
  authenticate: anybody,
  parameters: {
    path: {
      provider: described(
        v.picklist(providerIds, `The provider must be one of ${providerIds.join(', ')}.`),
        'The provider whose settings name the issuer.',
      ),
    },
    query: {
      login_app_id: v.pipe(
        v.optional(once('login_app_id', loginAppIdSchema), ['']),
        jsonSchema({ type: 'string', pattern: idForms['la_…'].source }),
        v.description('The Login App.'),
      ),
      event: queryChoice(
        'event',
        ['deauthorize', 'data_deletion'],
        'The event that a signed request is about: it does not say so itself.',
      ),
    },
  },
  body: {
    ...json(appleSchema, invalidRequest, { mostBytes }),
    others: [
      {
        ...securityEventToken(securityEventSchema, mostBytes),
        badRequest: securityEventError,
        example: 'SECURITY_EVENT_TOKEN',
      },
      {
        ...form(formSchema, invalidRequest, { mostBytes }),
        example: { logout_token: 'LOGOUT_TOKEN' },
      },
    ],
  },
  table: {
    login_apps: ['GetItem'],
    login_users: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
    devices: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
    issuer_keys: ['GetItem'],
  },
  secrets: ['provider-settings'],
  callsProviders: true,
  handle: async ({ path, query: { login_app_id, event }, body }) =>
    answers[body.form](await receiveNotification(login_app_id, path.provider, { ...body, event })),
  document: !process.env.BUNDLED && {
    summary: 'Receives notifications of an identity provider about a person',
    description:
      'Register this address at the provider, with the id of the Login App in the query. It accepts what Sign in with Apple sends as JSON, security event tokens (RFC 8417, pushed as RFC 8935 says), logout tokens (OpenID Connect Back-Channel Logout 1.0) and signed requests of Facebook. When a provider says that a person left, logged out or lost their account, the service ends the sessions that began with that identity, or unlinks it, as the provider settings say. A person without another identity loses all sessions, or is deleted. Other notifications change nothing.',
    tag: 'People',
    responses: {
      200: {
        description: 'The logout token or the signed request has been received.',
        body: receiptSchema,
        example: {
          url: 'https://www.example.com/deletion?confirmation_code=3f1c',
          confirmation_code: '3f1c',
        },
      },
      202: { description: 'The security event token has been received.' },
      204: { description: 'The notification of Apple has been received.' },
    },
    errors: {
      invalid_request: {
        when: 'The notification is missing, malformed, or not of this provider for this Login App. Or the provider is not set up for the Login App.',
        example: 'The payload is not a notification of this provider for this Login App.',
      },
    },
    example: {
      path: { provider: 'provider_f' },
      query: { login_app_id: `la_${'A'.repeat(22)}` },
      body: { payload: 'PROVIDER_NOTIFICATION' },
    },
  },
});
