import * as client from 'openid-client';

interface Input {
  base_url: string;
  client_id: string;
  client_secret: string;
  id_token: string;
  /** The key by which a client without a secret authenticates. */
  private_jwk?: JsonWebKey;
}

/** How the client authenticates, as it should. */
async function authenticationOf({ client_secret, private_jwk }: Input): Promise<client.ClientAuth> {
  if (!private_jwk) return client.ClientSecretBasic(client_secret);
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  return client.PrivateKeyJwt(await crypto.subtle.importKey('jwk', private_jwk, algorithm, false, ['sign']));
}

const codeOf = (error: unknown): unknown =>
  error instanceof client.ResponseBodyError ? error.error : `not the error of a token endpoint: ${error}`;

/** The scheme that the server asks for. The library reads it instead of the body of a 401. */
const schemeOf = (error: unknown): unknown =>
  error instanceof client.WWWAuthenticateChallengeError
    ? error.cause.map(({ scheme }) => scheme).join()
    : `no challenge: ${error}`;

/** Logs in, refreshes, introspects and revokes with openid-client, and prints what came of it. */
async function main(input: Input): Promise<void> {
  const { base_url, client_id, client_secret, id_token } = input;
  const right = await authenticationOf(input);
  const discover = (algorithm: 'oidc' | 'oauth2', authentication = right): Promise<client.Configuration> =>
    client.discovery(new URL(base_url), client_id, undefined, authentication, {
      algorithm,
      execute: [client.allowInsecureRequests],
    });
  const config = await discover('oauth2');
  const login = await client.genericGrantRequest(await discover('oidc'), 'provider_credentials', {
    provider: 'provider_f',
    id_token,
  });
  const { access_token, refresh_token = '' } = await client.refreshTokenGrant(
    config,
    login.refresh_token ?? '',
  );
  const before = await client.tokenIntrospection(config, access_token);
  await client.tokenRevocation(config, refresh_token);
  const after = await client.tokenIntrospection(config, access_token);

  const rejected = async (authentication: client.ClientAuth): Promise<unknown> =>
    client.clientCredentialsGrant(await discover('oauth2', authentication)).catch(schemeOf);
  process.stdout.write(
    JSON.stringify({
      token_use: before.token_use,
      active: [before.active, after.active],
      revoked: await client.refreshTokenGrant(config, refresh_token).catch(codeOf),
      unknown_grant: await client.genericGrantRequest(config, 'password', {}).catch(codeOf),
      wrong_secret: await rejected(client.ClientSecretBasic('wrong')),
      secret_in_body: await rejected(client.ClientSecretPost(client_secret)),
    }),
  );
}

await main(JSON.parse(process.argv[2] ?? ''));
