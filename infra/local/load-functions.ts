import { definedOnly } from '../../lib/foundation/defined-only.ts';
import type { Access } from '../../lib/http/endpoint.ts';
import type { AwsEndpoint } from '../operator/call/invoke-function.ts';
import { readSettings, tokenVariables } from '../settings/settings.ts';
import type { InvocableFunction } from './aws.ts';
import type { Route } from './gateway.ts';
import { functionVariables } from './start-settings.ts';

/** The addresses of a stack and the name of its table, as `.local/demo.json` has them. */
export interface Addresses {
  /** The address of the API, which is the `iss` of its tokens. */
  base_url: string;
  sandbox_url: string;
  dynamodb_endpoint: string;
  table_name: string;
}

/**
 * The environment of all functions, as Lambda would set it: of tokens and the like, what is set
 * already comes first.
 */
export function environmentOf(
  { base_url, dynamodb_endpoint, table_name }: Omit<Addresses, 'sandbox_url'>,
  { url, secret_access_key }: AwsEndpoint,
): Record<string, string> {
  const defaults = { ...tokenVariables(readSettings({})), AWS_CALL_MILLISECONDS: '10000' };
  const set = Object.fromEntries(functionVariables.map((name) => [name, process.env[name]]));
  return {
    ...defaults,
    ...definedOnly(set),
    TABLE_NAME: table_name,
    ISSUER: base_url,
    SIGNING_KEYS_SECRET_ID: 'signing-keys',
    REFRESH_TOKENS_SECRET_ID: 'refresh-tokens',
    PROVIDER_SETTINGS_SECRET_ID: 'provider-settings',
    EVENT_BUS_NAME: 'login-service',
    DEAD_LETTER_QUEUE_URL: `${url}/dead-letters`,
    SIGNING_KEY_ROTATION_FUNCTION: 'rotate-signing-keys',
    LOOPBACK_PROVIDERS: 'allowed',
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: secret_access_key,
    AWS_ENDPOINT_URL_DYNAMODB: dynamodb_endpoint,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: url,
    AWS_ENDPOINT_URL_STS: url,
    AWS_ENDPOINT_URL_EVENTBRIDGE: url,
    AWS_ENDPOINT_URL_SQS: url,
    AWS_ENDPOINT_URL_LAMBDA: url,
  };
}

/** Sets the environment of the functions, which they read when they load. */
export function setEnvironment(addresses: Omit<Addresses, 'sandbox_url'>, aws: AwsEndpoint): void {
  Object.assign(process.env, environmentOf(addresses, aws));
}

/** The records of all functions, which are loaded only now: some read the environment then. */
async function records() {
  const { readFunctions } = await import('../endpoints.ts');
  return readFunctions();
}

/** Loads every endpoint's handler into the routes of the gateway. */
export async function loadRoutes(routes: Route[]): Promise<void> {
  const { endpoints } = await records();
  for (const [key, endpoint] of endpoints)
    routes.push({ endpoint, handler: await handlerOf(key, endpoint) });
}

export async function loadOtherFunctions(functions: Map<string, InvocableFunction>): Promise<void> {
  const { others } = await records();
  for (const [key, access] of others) functions.set(key, await handlerOf(key, access));
}

/** A handler with the rights to the table that its role has in a deployment. */
async function handlerOf(key: string, access: Access) {
  const { handler } = await import(`../../functions/${key}.ts`);
  const { withTableRights } = await import('./enforce-table-rights.ts');
  return (...parameters: unknown[]) => withTableRights(key, access, () => handler(...parameters));
}
