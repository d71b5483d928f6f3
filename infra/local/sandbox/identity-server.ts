import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import Provider from 'oidc-provider';
import type { RegisteredApp } from './apps.ts';
import { identityServerConfiguration } from './identity-server-configuration.ts';
import type { Records } from './memory-adapter.ts';
import { generateSigningKey, type SigningKey } from './signing-key.ts';
import type { Validity } from './validity.ts';

interface IdentityServerOptions {
  /** The URL it is mounted at. */
  issuer: string;
  apps: readonly RegisteredApp[];
  /** Where authorization codes are sent; without one the apps can't use the code grant. */
  redirectUri?: string;
}

/** Who gets a token for which app, and until when. */
interface Issue {
  subject: string;
  app: RegisteredApp;
  validity: Validity;
}

const scope = 'openid';

/** A certified OAuth 2.0 and OpenID Connect server, with a way to issue what a login in a browser would lead to. */
export class IdentityServer {
  readonly #options: IdentityServerOptions;
  readonly #records: Records = new Map();
  readonly #cookieKey = randomBytes(32).toString('base64url');
  #key: SigningKey;
  #provider: Provider;
  #handle: (request: IncomingMessage, response: ServerResponse) => Promise<void>;

  static async start(options: IdentityServerOptions): Promise<IdentityServer> {
    return new IdentityServer(options, await generateSigningKey());
  }

  private constructor(options: IdentityServerOptions, key: SigningKey) {
    this.#options = options;
    this.#key = key;
    this.#provider = this.#createProvider();
    this.#handle = this.#provider.callback();
  }

  /** The key that signs now, and is the only one published. */
  get signingKey(): SigningKey {
    return this.#key;
  }

  /** Replaces the signing key. What was issued before stays valid, except for its signatures. */
  async rotateKey(): Promise<string> {
    this.#key = await generateSigningKey();
    this.#provider = this.#createProvider();
    this.#handle = this.#provider.callback();
    return this.#key.kid;
  }

  async issueAccessToken(issue: Issue): Promise<string> {
    return new this.#provider.AccessToken(await this.#grant(issue)).save();
  }

  /** A grant of its own: when a replayed code ends its grant, no other token ends with it. */
  async issueAuthorizationCode(issue: Issue, redirectUri: string): Promise<string> {
    return new this.#provider.AuthorizationCode({ ...(await this.#grant(issue)), redirectUri }).save();
  }

  /** Answers a request whose path, below the issuer's own, is `path`. */
  answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Mounted as Express would do it, so that oidc-provider finds its own prefix for the URLs it publishes.
    const belowIssuer = path + (request.url ?? '').replace(/^[^?]*/, '');
    Object.assign(request, { originalUrl: request.url, url: belowIssuer });
    return this.#handle(request, response);
  }

  async #grant({ subject, app, validity }: Issue) {
    const properties = { accountId: subject, clientId: app.id, ...validity };
    const grant = new this.#provider.Grant(properties);
    grant.addOIDCScope(scope);
    return { ...properties, scope, grantId: await grant.save() };
  }

  #createProvider(): Provider {
    const configuration = identityServerConfiguration({
      ...this.#options,
      records: this.#records,
      jwk: this.#key.jwk,
      cookieKey: this.#cookieKey,
    });
    const provider = new Provider(this.#options.issuer, configuration);
    // Callers under test hang up on purpose; Koa would print each time.
    provider.silent = true;
    return provider;
  }
}
