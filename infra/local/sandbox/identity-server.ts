import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTPayload, SignJWT } from 'jose';
import type { AccessToken, Context } from 'oidc-provider';
import * as v from 'valibot';
import { definedOnly } from '../../../lib/foundation/defined-only.ts';
import { readWhole, writeWhole } from '../local-files.ts';
import {
  type Apps,
  type CredentialsQuery,
  epochSeconds,
  profile,
  validity,
} from './sandbox-provider.ts';
import { redirectUris, signIn, signInPath } from './sign-in-page.ts';

interface IdentityServerOptions {
  /** The URL that it is mounted at. */
  issuer: string;
  apps: Apps;
  /** A folder that keeps the signing key; without it the key is new. */
  keysFolder?: string | undefined;
  /**
   * The scopes of its tokens.
   * @default 'openid'
   */
  scope?: string | undefined;
  /** The `id` of a subject in the user info, besides `sub`. */
  idOf?: ((subject: string) => string) | undefined;
}

const openid = 'openid';
const alg = 'ES256';

/** A code for a person, which goes to the first redirect URI by default. */
interface CodeQuery
  extends Pick<
    CredentialsQuery,
    'subject' | 'audience' | 'expired' | 'nonce' | 'reusable' | 'refresh_token' | 'lifetime'
  > {
  code_challenge?: string | undefined;
  redirect_uri?: string;
}

/** The grants by their ids, with the query that began each. */
type Grants = ReadonlyMap<string, Pick<CodeQuery, 'reusable' | 'refresh_token' | 'lifetime'>>;

/** An OAuth 2.0 and OpenID Connect server that also issues tokens without a login in a browser. */
export async function createIdentityServer(options: IdentityServerOptions) {
  const jwk = await signingKey(options);
  const { kid } = jwk;
  const privateKey = await importJWK(jwk, alg);
  const claimsOf = new Map<string, object>();
  const grants = new Map<string, CodeQuery>();
  const store = memoryStore(grants);

  /** Loads and makes the server. A stack with many providers starts sooner without it. */
  async function start() {
    const { default: Provider } = await import('oidc-provider');
    const stored = { claimsOf, grants, adapter: store.adapter };
    const configuration = configurationOf(options, jwk, stored);
    const provider = new Provider(options.issuer, configuration);
    // Otherwise Koa prints a line whenever a caller hangs up.
    provider.silent = true;
    return { provider, handle: provider.callback() };
  }
  let starting: ReturnType<typeof start> | undefined;
  const started = () => (starting ??= start());

  /**
   * Gives each token a grant of its own: a replayed code ends its grant, and should end no other
   * token.
   */
  async function granted({ subject, audience, expired }: CodeQuery) {
    const { provider } = await started();
    const properties = {
      accountId: subject,
      clientId: options.apps[audience].id,
      ...validity(expired),
    };
    const grant = new provider.Grant(properties);
    const { scope = openid } = options;
    grant.addOIDCScope(scope);
    return { ...properties, scope, grantId: await grant.save() };
  }

  const issueAuthorizationCode = async (query: CodeQuery): Promise<string> => {
    const { nonce, code_challenge: codeChallenge, redirect_uri = redirectUris[0] } = query;
    const code = {
      redirectUri: redirect_uri,
      nonce,
      codeChallenge,
      codeChallengeMethod: codeChallenge && 'S256',
    };
    const { provider } = await started();
    const grant = await granted(query);
    grants.set(grant.grantId, query);
    return new provider.AuthorizationCode({ ...grant, ...code }).save();
  };

  return {
    /**
     * A JWT with exactly these claims.
     * @param typ absent for an id token
     */
    signJwt: (
      claims: JWTPayload,
      typ?: 'at+jwt' | 'secevent+jwt' | 'logout+jwt',
    ): Promise<string> =>
      new SignJWT(claims).setProtectedHeader(definedOnly({ alg, kid, typ })).sign(privateKey),
    issueAccessToken: async (query: CredentialsQuery): Promise<string> => {
      const { provider } = await started();
      return new provider.AccessToken(await granted(query)).save();
    },
    issueAuthorizationCode,
    /** Sets the profile in the user info, and in id tokens for codes, from now on. */
    setClaims: (subject: string, claims: object): void => void claimsOf.set(subject, claims),
    /** Ends all grants of a subject. */
    endGrantsOf: store.endGrantsOf,
    /** An unexpired access token. */
    findAccessToken: async (token: string): Promise<AccessToken | undefined> => {
      const { provider } = await started();
      return provider.AccessToken.find(token);
    },
    /**
     * Answers a request.
     * @param path below the issuer's own
     */
    async answer(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
      if (path === signInPath)
        return signIn(options.apps['our-app'].id, request, response, (subject, asked) => {
          // The page asks for a name, so the profile has it, unless it was given another one.
          claimsOf.set(subject, { name: subject, ...claimsOf.get(subject) });
          return issueAuthorizationCode({ ...asked, subject, audience: 'our-app' });
        });
      // As Express mounts it: oidc-provider then finds the prefix of the URLs that it publishes.
      const belowIssuer = path + (request.url ?? '').replace(/^[^?]*/, '');
      Object.assign(request, { originalUrl: request.url, url: belowIssuer });
      const { handle } = await started();
      return handle(request, response);
    },
  };
}

async function signingKey({
  issuer,
  keysFolder,
}: IdentityServerOptions): Promise<JWK & { kid: string }> {
  const file =
    keysFolder && join(keysFolder, `sandbox${new URL(issuer).pathname.replaceAll('/', '-')}.json`);
  if (file && existsSync(file))
    return readWhole(file, v.looseObject({ kty: v.string(), kid: v.string() }));
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid: randomUUID(), alg, use: 'sig' };
  if (file) writeWhole(file, jwk);
  return jwk;
}

/** The configuration, with every default that oidc-provider would warn about in the terminal. */
function configurationOf(
  { apps, idOf = (subject) => subject, scope = openid }: IdentityServerOptions,
  jwk: JWK,
  { claimsOf, grants, adapter }: Stored,
) {
  const hour = 3600;
  const grantOf = ({ grantId }: { grantId?: string | undefined }) => grants.get(grantId ?? '');
  return {
    adapter,
    clients: Object.values(apps).map(({ id, secret }) => ({
      client_id: id,
      client_secret: secret,
      id_token_signed_response_alg: alg,
      redirect_uris: redirectUris,
      grant_types: ['authorization_code', 'refresh_token'],
    })),
    jwks: { keys: [jwk] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    scopes: scope.split(' '),
    claims: { [openid]: ['sub', 'id', ...Object.keys(profile)] },
    conformIdTokenClaims: false,
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ ...claimsOf.get(accountId), sub: accountId, id: idOf(accountId) }),
    }),
    features: {
      devInteractions: { enabled: false },
      revocation: { enabled: true },
      // Any app may ask about any token: the service alone has to decide.
      introspection: { enabled: true, allowedPolicy: () => true },
    },
    issueRefreshToken: () => true,
    rotateRefreshToken: ({ oidc }: Context) =>
      grantOf(oidc.entities.RefreshToken ?? {})?.refresh_token === 'rotates',
    clockTolerance: 0,
    ttl: {
      AccessToken: (_: unknown, token: AccessToken) => grantOf(token)?.lifetime ?? hour,
      AuthorizationCode: hour,
      Grant: hour,
      IdToken: hour,
      RefreshToken: hour,
    },
  };
}

/** Everything that the server keeps, besides its key. */
interface Stored {
  claimsOf: ReadonlyMap<string, object>;
  grants: Grants;
  adapter: ReturnType<typeof memoryStore>['adapter'];
}

type StoredRecord = { grantId?: string; accountId?: string; consumed?: number };

/**
 * A store for oidc-provider. Its own in memory warns at start, and keeps only 1000 records.
 * @param grants say whose codes may be exchanged again, and whose refresh tokens don't work
 */
function memoryStore(grants: Grants) {
  const models: Map<string, StoredRecord>[] = [];

  /** The record of a refresh token, unless the grant says that it does not work. */
  function refreshTokenOf(record: StoredRecord | undefined): StoredRecord | undefined {
    const fate = grants.get(record?.grantId ?? '')?.refresh_token;
    if (fate === 'throttled') throw tooManyRequests();
    return fate === 'dies' ? undefined : record;
  }

  /** @param model the kind of records, such as `RefreshToken` */
  const adapter = (model: string) => {
    const records = new Map<string, StoredRecord>();
    models.push(records);
    return {
      upsert: async (id: string, record: StoredRecord) => void records.set(id, record),
      find: async (id: string) => {
        const record = records.get(id);
        return model === 'RefreshToken' ? refreshTokenOf(record) : record;
      },
      consume: async (id: string) => {
        const record = records.get(id);
        const isReusable = grants.get(record?.grantId ?? '')?.reusable === 'true';
        if (record && !isReusable) record.consumed = epochSeconds();
      },
      destroy: async (id: string) => void records.delete(id),
      revokeByGrantId: async (grantId: string) => {
        for (const [id, record] of records) if (record.grantId === grantId) records.delete(id);
      },
    };
  };

  const endGrantsOf = async (subject: string): Promise<void> => {
    for (const records of models)
      for (const [id, { accountId }] of records) if (accountId === subject) records.delete(id);
  };
  return { adapter, endGrantsOf };
}

/** @see RFC 6585, section 4 */
const tooManyRequests = () =>
  Object.assign(new Error('slow_down'), { expose: true, status: 429, statusCode: 429 });
