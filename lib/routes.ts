/** What a function does with the one table; nothing else is granted to it. */
type TableAction = 'GetItem' | 'BatchGetItem' | 'Query' | 'PutItem' | 'UpdateItem' | 'DeleteItem';

/** The secrets of a deployment that a function may read. */
export type SecretName = 'signing-keys' | 'service-secret';

/** An endpoint: its key is also the name of its file in `functions/`. */
export interface Route {
  method: 'GET' | 'POST' | 'DELETE';
  /** As API Gateway writes it: `{name}` stands for one segment. */
  path: string;
  summary: string;
  tableActions: readonly TableAction[];
  secrets: readonly SecretName[];
}

/** Every endpoint of the service. The stack, the local server and the tests read this table. */
export const routes = {
  'issue-token': {
    method: 'POST',
    path: '/v2/marketing/oauth/token',
    summary: 'Trades a provider credential, a refresh token or client credentials for a token',
    tableActions: ['GetItem', 'BatchGetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
    secrets: ['signing-keys', 'service-secret'],
  },
  'revoke-token': {
    method: 'POST',
    path: '/v2/marketing/oauth/revoke',
    summary: 'Ends the session of a refresh token or access token',
    tableActions: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
    secrets: ['service-secret'],
  },
  'introspect-token': {
    method: 'POST',
    path: '/v2/marketing/oauth/introspect',
    summary: 'Tells a client whether a token of its Login App is active',
    tableActions: ['GetItem', 'BatchGetItem', 'Query'],
    secrets: ['service-secret'],
  },
  'list-signing-keys': {
    method: 'GET',
    path: '/v2/marketing/oauth/jwks',
    summary: 'The public keys that access tokens are verified with',
    tableActions: ['GetItem'],
    secrets: [],
  },
  'describe-server': {
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    summary: 'Where the OAuth endpoints are and what they support',
    tableActions: [],
    secrets: [],
  },
  'register-device': {
    method: 'POST',
    path: '/v2/marketing/push_notifications/devices',
    summary: 'Registers a device for push notifications',
    tableActions: ['GetItem', 'Query', 'UpdateItem'],
    secrets: [],
  },
  'relate-device': {
    method: 'POST',
    path: '/v2/marketing/login/user/push_notifications/devices',
    summary: 'Relates a registered device to the Login User',
    tableActions: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
    secrets: [],
  },
  'list-devices': {
    method: 'GET',
    path: '/v2/marketing/login/user/push_notifications/devices',
    summary: 'Lists the devices that are related to the Login User',
    tableActions: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
    secrets: [],
  },
  'end-device-relation': {
    method: 'DELETE',
    path: '/v2/marketing/login/user/push_notifications/devices/{device_id}',
    summary: 'Ends the relation of a device to the Login User',
    tableActions: ['GetItem', 'BatchGetItem', 'UpdateItem'],
    secrets: [],
  },
  'create-access-request': {
    method: 'POST',
    path: '/v1/rbac/access_requests',
    summary: 'Creates an access request that the account has access to',
    tableActions: ['GetItem', 'Query', 'PutItem', 'UpdateItem'],
    secrets: [],
  },
  'add-comment': {
    method: 'POST',
    path: '/v1/rbac/access_requests/{access_request_id}/comments',
    summary: 'Adds a comment to an access request',
    tableActions: ['GetItem', 'BatchGetItem', 'Query', 'PutItem'],
    secrets: [],
  },
  'add-review': {
    method: 'POST',
    path: '/v1/rbac/access_requests/{access_request_id}/reviews',
    summary: 'Adds a review to an access request',
    tableActions: ['GetItem', 'BatchGetItem', 'Query', 'PutItem'],
    secrets: [],
  },
  'search-events': {
    method: 'GET',
    path: '/v1/rbac/access_requests/{access_request_id}/events',
    summary: 'Searches the comments and reviews of an access request',
    tableActions: ['GetItem', 'BatchGetItem', 'Query'],
    secrets: [],
  },
  'search-reviews': {
    method: 'GET',
    path: '/v1/rbac/access_requests/{access_request_id}/reviews',
    summary: 'Searches the reviews of an access request',
    tableActions: ['GetItem', 'BatchGetItem', 'Query'],
    secrets: [],
  },
} as const satisfies Record<string, Route>;

export type RouteKey = keyof typeof routes;

export const routeKeys = Object.keys(routes) as RouteKey[];
