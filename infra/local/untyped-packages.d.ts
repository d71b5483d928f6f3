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

  interface Grant {
    accountId: string;
    clientId: string;
    /** Epoch seconds. */
    iat: number;
    /** Epoch seconds. */
    exp: number;
  }

  export interface AccessToken extends Grant {
    grantId: string;
    scope: string;
  }

  interface Model<Properties> {
    new (properties: Properties): { save(): Promise<string>; addOIDCScope(scope: string): void };
    find(id: string): Promise<Properties | undefined>;
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    silent: boolean;
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    readonly Grant: Model<Grant>;
    readonly AccessToken: Model<AccessToken>;
    readonly AuthorizationCode: Model<
      AccessToken & {
        redirectUri: string;
        nonce?: string;
        codeChallenge?: string;
        codeChallengeMethod?: string;
      }
    >;
  }
}
