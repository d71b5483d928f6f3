import { type RouteKey, routeKeys } from '../../lib/routes.ts';
import { lifetimeVariables, readSettings } from '../settings.ts';
import type { InvocableFunction } from './aws.ts';
import type { RouteHandler } from './gateway.ts';

/** What the functions of a stack work with. */
interface FunctionSurroundings {
  /** Where the API is reached, which is the `iss` of its tokens. */
  issuer: string;
  tableName: string;
  dynamoDbEndpoint: string;
  /** Where Lambda's Invoke and Secrets Manager answer. */
  awsEndpoint: string;
}

/** The names of the secrets, which a deployment makes up. */
export const secretIds = { signingKeys: 'signing-keys', service: 'service-secret' } as const;

/** Sets the environment, as Lambda does; lifetimes that are set already stay. The functions read it when they load, so they are loaded after this. */
export function setEnvironment(surroundings: FunctionSurroundings): void {
  Object.assign(process.env, {
    ...lifetimeVariables(readSettings({})),
    ...process.env,
    TABLE_NAME: surroundings.tableName,
    ISSUER: surroundings.issuer,
    SIGNING_KEYS_SECRET_ID: secretIds.signingKeys,
    SERVICE_SECRET_ID: secretIds.service,
    LOOPBACK_PROVIDERS: 'allowed',
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: surroundings.dynamoDbEndpoint,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: surroundings.awsEndpoint,
  });
}

/** Loads the handlers of all routes into the map that the gateway reads. */
export async function loadRouteHandlers(handlers: Map<RouteKey, RouteHandler>): Promise<void> {
  for (const key of routeKeys) handlers.set(key, await load(key));
}

/** Loads the functions that have no route. */
export async function loadOtherFunctions(functions: Map<string, InvocableFunction>): Promise<void> {
  for (const name of ['operator', 'rotate-signing-keys']) functions.set(name, await load(name));
}

const load = async (name: string) => (await import(`../../functions/${name}.ts`)).handler;
