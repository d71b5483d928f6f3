import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT } from 'jose';
import * as v from 'valibot';
import { localFiles, readStackFile } from '../../infra/local/local-files.ts';
import { type AwsEndpoint, localAws } from '../../infra/operator/call/invoke-function.ts';
import { keySetSchema, type PrivateJwk } from '../../lib/signing/key-set.ts';
import type { Service } from './service.ts';
import type { FollowedService } from './start-service.ts';

/** Where Lambda's Invoke and Secrets Manager answer for a service. */
export const awsEndpointOf = ({ directory }: Pick<FollowedService, 'directory'>): AwsEndpoint =>
  readStackFile(localFiles(directory)).aws_endpoint;

export const kidOf = (token: string): string => String(decodeProtectedHeader(token).kid);

export const publishedKids = async ({ call }: Service): Promise<string[]> =>
  (await call('/v2/marketing/oauth/jwks')).body.keys.map(({ kid }: { kid: string }) => kid);

/** The signing keys with their private parts, as somebody has them who could read the secret. */
export async function stolenSigningKeys(running: FollowedService) {
  const client = new SecretsManagerClient(localAws(awsEndpointOf(running)));
  const { SecretString } = await client.send(
    new GetSecretValueCommand({ SecretId: 'signing-keys' }),
  );
  client.destroy();
  return v.parse(v.pipe(v.string(), v.parseJson(), keySetSchema), SecretString);
}

/**
 * A token with the claims of a genuine one, issued now by the clock of the service, signed with a
 * stolen key.
 */
export async function forgedWith(
  jwk: PrivateJwk,
  genuine: string,
  { now }: FollowedService,
): Promise<string> {
  return new SignJWT({ ...decodeJwt(genuine), iat: now(), exp: now() + 3600 })
    .setProtectedHeader({ alg: jwk.alg, typ: 'at+jwt', kid: jwk.kid })
    .sign(await importJWK(jwk));
}
