import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { profileFields } from '../../../lib/login-users/profile.ts';
import type { CredentialsQuery } from './credentials-query.ts';

/** An identity provider of the sandbox, mounted at its own path. */
export interface SandboxProvider {
  /** Settings that an operator would give for our app at the provider. */
  settings: object;
  /** Issues what an app would get after a login of the subject: the parameters of a token request. */
  issue(request: CredentialsQuery): Promise<Record<string, string>>;
  /** Answers a request to the provider's own protocol. `path` is below the provider's own path, without the query. */
  answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void>;
}

/** The setting by which every claim of a profile is kept, each under its own name. */
export const profile = Object.fromEntries(profileFields.map((name) => [name, name]));

/** An app that is registered at a provider. */
export interface App {
  id: string;
  secret: string;
}

/** The two apps that each provider knows: ours, and another one whose credentials must let nobody in. */
export class Apps {
  readonly ours: App;
  readonly another: App;

  constructor(providerId: string) {
    this.ours = { id: `${providerId}-our-app`, secret: newSecret() };
    this.another = { id: `${providerId}-another-app`, secret: newSecret() };
  }

  /** The app that a credential is to be issued to, by the `audience` of a request for it. */
  of(audience: CredentialsQuery['audience']): App {
    return audience === 'another-app' ? this.another : this.ours;
  }
}

/** Ends in characters that a caller has to encode, in HTTP Basic too: RFC 6749, section 2.3.1. */
const newSecret = (): string => `${randomBytes(24).toString('base64url')}+/%&:`;

const hour = 3600;

export const epochSeconds = (): number => Math.floor(Date.now() / 1000);

/** `iat` and `exp` in epoch seconds: for an hour from now, or an hour that ended an hour ago, beyond any leeway. */
export function validity(expired: boolean): { iat: number; exp: number } {
  const iat = epochSeconds() - (expired ? 2 * hour : 0);
  return { iat, exp: iat + hour };
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
  response.writeHead(status, headers).end(JSON.stringify(value));
}
