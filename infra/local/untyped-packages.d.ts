declare module 'dynalite' {
  import type { Server } from 'node:http';

  export default function dynalite(options?: {
    createTableMs?: number;
    deleteTableMs?: number;
    updateTableMs?: number;
    /** A folder for the data, which otherwise stay in memory. */
    path?: string | undefined;
  }): Server;
}

/** The part of oidc-provider that the sandbox uses; the package ships no types of its own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export interface AccessToken {
    accountId: string;
    clientId: string;
    /** Epoch seconds. */
    exp: number;
  }

  type Model = new (properties: object) => { save(): Promise<string> };

  export default class Provider {
    constructor(issuer: string, configuration: object);
    silent: boolean;
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    readonly Grant: new (
      properties: object,
    ) => { save(): Promise<string>; addOIDCScope(scope: string): void };
    readonly AccessToken: Model & { find(id: string): Promise<AccessToken | undefined> };
    readonly AuthorizationCode: Model;
  }
}
