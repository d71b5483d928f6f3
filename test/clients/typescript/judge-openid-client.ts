import * as client from 'openid-client';

interface Input {
  base_url: string;
  client_id: string;
  client_secret: string;
  id_token: string;
  /** The key by which a client without a secret authenticates. */
  private_jwk?: JsonWebKey;
  /** That of a login by a public client, which proves a key of its own. */
  nonce?: string;
  /** The Login User Token for which the client gets a token of the provider, and does no more. */
  subject_token?: string;
}

/** How the client authenticates, as it should. */
async function authenticationOf({ client_secret, private_jwk }: Input): Promise<client.ClientAuth> {
  if (!private_jwk) return client.ClientSecretBasic(client_secret);
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' };
  return client.PrivateKeyJwt(
    await crypto.subtle.importKey('jwk', private_jwk, algorithm, false, ['sign']),
  );
}

const codeOf = (error: unknown): unknown =>
  error instanceof client.ResponseBodyError
    ? error.error
    : `not the error of a token endpoint: ${error}`;

/** The scheme that the server asks for. The library reads it instead of the body of a 401. */
const schemeOf = (error: unknown): unknown =>
  error instanceof client.WWWAuthenticateChallengeError
    ? error.cause.map(({ scheme }) => scheme).join()
    : `no challenge: ${error}`;

/** @param clockSkew seconds by which the clock of the client is wrong */
const discovered = (
  { base_url, client_id }: Input,
  algorithm: 'oidc' | 'oauth2',
  authentication: client.ClientAuth,
  clockSkew = 0,
): Promise<client.Configuration> =>
  client.discovery(
    new URL(base_url),
    client_id,
    { [client.clockSkew]: clockSkew },
    authentication,
    {
      algorithm,
      execute: [client.allowInsecureRequests],
    },
  );

/**
 * Logs in, refreshes and revokes as a public client with a clock that is a day late: the library
 * repeats with the nonce.
 */
async function judgePublicClient(input: Input): Promise<object> {
  const { id_token, nonce = '' } = input;
  const config = await discovered(input, 'oauth2', client.None(), -86_400);
  const form = { provider: 'provider_f', id_token, nonce };
  const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair());
  const login = await client.genericGrantRequest(config, 'provider_credentials', form, { DPoP });
  const stolen = login.refresh_token ?? '';
  const other = client.getDPoPHandle(config, await client.randomDPoPKeyPair());
  const by_another_key = await client
    .refreshTokenGrant(config, stolen, {}, { DPoP: other })
    .catch(codeOf);
  const { refresh_token = '' } = await client.refreshTokenGrant(config, stolen, {}, { DPoP });

  // The library's revocation takes no handle. The handle itself makes proofs, by a method that its
  // type doesn't name.
  const revoking = await discovered(input, 'oauth2', client.None(), -86_400);
  revoking[client.customFetch] = async (url, { body, ...options }) => {
    const headers = new Headers(options.headers);
    await Object(DPoP).addProof(new URL(url), headers, 'POST');
    return fetch(url, { ...options, headers, body: new URLSearchParams(String(body)) });
  };
  await client.tokenRevocation(revoking, refresh_token);
  const revoked = await client.refreshTokenGrant(config, refresh_token, {}, { DPoP }).catch(codeOf);
  return { token_type: login.token_type, by_another_key, revoked };
}

async function judgeConfidentialClient(input: Input): Promise<object> {
  const { client_secret, id_token } = input;
  const right = await authenticationOf(input);
  const discover = (algorithm: 'oidc' | 'oauth2', authentication = right) =>
    discovered(input, algorithm, authentication);
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
  return {
    token_use: before.token_use,
    active: [before.active, after.active],
    revoked: await client.refreshTokenGrant(config, refresh_token).catch(codeOf),
    unknown_grant: await client.genericGrantRequest(config, 'password', {}).catch(codeOf),
    wrong_secret: await rejected(client.ClientSecretBasic('wrong')),
    secret_in_body: await rejected(client.ClientSecretPost(client_secret)),
  };
}

/** Gets a token of the provider, twice: for a token of the person, and for another text. */
async function judgeExchange(input: Input): Promise<object> {
  const config = await discovered(input, 'oauth2', await authenticationOf(input));
  const exchange = (subject_token: string) =>
    client.genericGrantRequest(config, 'urn:ietf:params:oauth:grant-type:token-exchange', {
      audience: 'provider_b',
      subject_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    });
  const { access_token, ...told } = await exchange(input.subject_token ?? '');
  const isOffered = config
    .serverMetadata()
    .grant_types_supported?.includes('urn:ietf:params:oauth:grant-type:token-exchange');
  return {
    told: Object.keys(told).sort(),
    token_type: told.token_type,
    is_offered: isOffered,
    is_token: access_token.length > 0,
    wrong_subject: await exchange('made-up').catch(codeOf),
  };
}

const input: Input = JSON.parse(process.argv[2] ?? '');
const judgeLogins = input.nonce ? judgePublicClient : judgeConfidentialClient;
const judged = await (input.subject_token ? judgeExchange : judgeLogins)(input);
process.stdout.write(JSON.stringify(judged));
