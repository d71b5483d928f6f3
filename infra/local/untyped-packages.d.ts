declare module 'dynalite' {
  import type { Server } from 'node:http';

  export default function dynalite(options: object): Server;
}

/** The part of oidc-provider that the sandbox uses; its types are a package of their own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  export interface AccessToken {
    accountId: string;
    clientId: string;
    /** Epoch seconds. */
    exp: number;
    scope?: string;
    grantId?: string;
  }

  /** A request, with what has been read for it. */
  export interface Context {
    oidc: { entities: { RefreshToken?: { grantId?: string } } };
  }

  type Model<More = object> = new (properties: object) => More & { save(): Promise<string> };

  export default class Provider {
    constructor(issuer: string, configuration: object);
    silent: boolean;
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    readonly Grant: Model<{ addOIDCScope(scope: string): void }>;
    readonly AccessToken: Model & { find(id: string): Promise<AccessToken | undefined> };
    readonly AuthorizationCode: Model;
  }
}
