import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { localAws } from '../../infra/invoke-function.ts';
import { localDynamoDb } from '../../infra/local/dynamodb.ts';
import { rotateSigningKeys } from '../../infra/local/stack.ts';
import { publicSigningKeysKey } from '../../lib/storage/keys.ts';
import { logLines } from '../support/log-lines.ts';
import { ownService } from '../support/own-service.ts';
import { unique } from '../support/service.ts';
import { awsEndpointOf } from '../support/stolen-signing-keys.ts';

const { running, service } = await ownService({ METRICS_NAMESPACE: 'a-stack' }, { movableClock: true });
const awsEndpoint = awsEndpointOf(running);

/** Brings the service back to the state that a deployment leaves until the first rotation has finished. */
async function forgetSigningKeys(): Promise<void> {
  const secrets = new SecretsManagerClient(localAws(awsEndpoint));
  const SecretString = 'a%random"text{32 characters long';
  await secrets.send(new PutSecretValueCommand({ SecretId: 'signing-keys', SecretString }));
  secrets.destroy();
  await localDynamoDb(running.demo.dynamodb_endpoint).send(
    new DeleteCommand({ TableName: running.demo.table_name, Key: publicSigningKeysKey() }),
  );
  // A warm function remembers keys for five minutes.
  running.advance(300);
}

const publishedKeys = () => service.call('/v2/marketing/oauth/jwks');

test('until the first rotation has finished, tokens are a 503 with Retry-After, and no cache keeps the empty key set; then both work at once', async () => {
  await forgetSigningKeys();
  const { status, headers, body } = await service.token({ grant_type: 'client_credentials' });
  expect({ status, error: body.error, retryAfter: headers.get('retry-after') }).toEqual({
    status: 503,
    error: 'temporarily_unavailable',
    retryAfter: '10',
  });
  // To the alarms it is as much a 5xx as a 500.
  expect(logLines(running).at(-1)).toMatchObject({
    event: 'token_refused',
    TokensRefused: 1,
    ServerErrors: 1,
  });
  expect((await service.logIn(unique('alice'))).status).toBe(503);
  const empty = await publishedKeys();
  expect(empty).toMatchObject({ status: 200, body: { keys: [] } });
  expect(empty.headers.get('cache-control')).toBe('no-store');

  await rotateSigningKeys(awsEndpoint);
  expect((await service.token({ grant_type: 'client_credentials' })).status).toBe(200);
  const published = await publishedKeys();
  expect(published.body.keys).toHaveLength(2);
  expect(published.headers.get('cache-control')).toBe('public, max-age=300');
});
