import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CredentialsRequest } from './credentials-request.ts';

/** The endpoints that the service calls at a provider, by the names that faults and call counts use. */
export const endpointNames = [
  'user_info',
  'audience_validation',
  'token',
  'verify',
  'discovery',
  'jwks',
] as const;

export type EndpointName = (typeof endpointNames)[number];

/** One identity provider of the sandbox, mounted at its own path. */
export interface SandboxProvider {
  /** What an operator would set for our app at this provider. */
  settings: object;
  /** Which path, below the provider's own, is which endpoint. */
  endpoints: ReadonlyMap<string, EndpointName>;
  /** Issues what an app would get after a login of the subject: the form fields of a login request. */
  issueCredentials(request: CredentialsRequest): Promise<Record<string, string>> | Record<string, string>;
  /** Answers the provider's own protocol. `path` is below the provider's own path, without the query. */
  answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> | void;
  /** Signs with a new key from now on and publishes only that one. Returns its `kid`. */
  rotateKey?(): Promise<string>;
}
