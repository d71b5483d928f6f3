/** The part of oidc-provider that the sandbox uses; the package ships no types of its own. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface Model {
    save(): Promise<string>;
  }

  interface GrantModel extends Model {
    addOIDCScope(scope: string): void;
  }

  interface GrantProperties {
    accountId: string;
    clientId: string;
    /** Epoch seconds. */
    iat: number;
    /** Epoch seconds. */
    exp: number;
  }

  interface TokenProperties extends GrantProperties {
    grantId: string;
    scope: string;
  }

  interface CodeProperties extends TokenProperties {
    redirectUri: string;
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    silent: boolean;
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    readonly Grant: new (
      properties: GrantProperties,
    ) => GrantModel;
    readonly AccessToken: new (
      properties: TokenProperties,
    ) => Model;
    readonly AuthorizationCode: new (
      properties: CodeProperties,
    ) => Model;
  }
}
