import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { startLocalAws } from '../../infra/local/aws.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';

const aws = await startLocalAws(new Map());
const responses: { method: string | undefined; contentType: string | undefined; body: unknown }[] =
  [];
/** Where CloudFormation takes the response. */
const bucket = await serve(async (request, response) => {
  const body: unknown = JSON.parse((await readBody(request)).toString());
  responses.push({ method: request.method, contentType: request.headers['content-type'], body });
  response.end();
});
afterAll(() => Promise.all([aws.close(), bucket.close()]));
process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER = aws.url;
process.env.AWS_REGION = 'us-east-1';
process.env.AWS_ACCESS_KEY_ID = 'local';
process.env.AWS_SECRET_ACCESS_KEY = aws.endpoint.secret_access_key;
const { awaitSigningKeys } = await import('../../lib/release/await-signing-keys.ts');

const ids = { StackId: 'a-stack', RequestId: 'a-request', LogicalResourceId: 'FirstRotation' };
const request = (RequestType: string) => ({
  ...ids,
  RequestType,
  ResponseURL: `${bucket.url}/presigned`,
  ResourceProperties: { ServiceToken: 'a-function', SecretId: 'signing-keys' },
});
const minutes = () => 300_000;
let looks: number;

beforeEach(() => {
  responses.length = 0;
  looks = 0;
});

/** Secrets Manager has finished the rotation at a certain look, or never. */
function rotatedAtLook(finished: number): void {
  aws.secrets.answer = () => {
    looks += 1;
    return { status: 200, body: looks < finished ? {} : { LastRotatedDate: 1_700_000_000 } };
  };
}

const success = { Status: 'SUCCESS', PhysicalResourceId: 'FirstRotation', ...ids };

test('CloudFormation hears of success only when Secrets Manager has rotated the signing keys', async () => {
  rotatedAtLook(3);
  await awaitSigningKeys(request('Create'), minutes);
  expect(looks).toBe(3);
  // The presigned URL takes no content type.
  expect(responses).toEqual([{ method: 'PUT', contentType: '', body: success }]);
});

test('when the time is up, the deployment fails, and says where to look', async () => {
  rotatedAtLook(Infinity);
  await awaitSigningKeys(request('Create'), () => 10_500);
  const Reason = expect.stringContaining('Read the log of rotate-signing-keys.');
  expect(responses.map(({ body }) => body)).toEqual([{ ...success, Status: 'FAILED', Reason }]);
});

test('an update of a stack whose keys exist ends at once, and keeps the id of the resource', async () => {
  rotatedAtLook(1);
  await awaitSigningKeys({ ...request('Update'), PhysicalResourceId: 'an-older-id' }, minutes);
  expect(responses.map(({ body }) => body)).toEqual([
    { ...success, PhysicalResourceId: 'an-older-id' },
  ]);
});

test('the removal of the stack waits for nothing', async () => {
  rotatedAtLook(Infinity);
  await awaitSigningKeys({ ...request('Delete'), PhysicalResourceId: 'FirstRotation' }, minutes);
  expect({ looks, bodies: responses.map(({ body }) => body) }).toEqual({
    looks: 0,
    bodies: [success],
  });
});
