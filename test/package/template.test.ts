import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { serve } from '../../infra/local/loopback-server.ts';
import { openBucket } from '../../infra/package/template/bucket.ts';
import { readTemplateLine } from '../../infra/package/template/command-line.ts';

describe('the words of the command', () => {
  test('name a bucket, and settings as for cdk deploy', () => {
    const words = ['--bucket', 'a-bucket', '-c', 'deployment=example', '--context', 'tracing=true'];
    const { bucket, owner, settings } = Object(readTemplateLine(words));
    expect({ bucket, owner, stack: settings.stack, tracing: settings.tracing }).toEqual({
      bucket: 'a-bucket',
      owner: settings.account,
      stack: 'example',
      tracing: true,
    });
    expect(settings.account).toMatch(/^\d{12}$/);
  });

  test('may name the owner of a bucket elsewhere', () => {
    const words = ['--bucket=a-bucket', '--bucket-owner=210987654321', '-c', 'deployment=example'];
    expect(readTemplateLine(words)).toMatchObject({ owner: '210987654321' });
  });

  test.each([
    ['', 'Name an S3 bucket in the region of the deployment: --bucket BUCKET.'],
    ['--bucket A_Bucket', 'Name an S3 bucket in the region of the deployment: --bucket BUCKET.'],
    // A placeholder would go into the templates.
    [
      '--bucket $AWS::Region',
      'Name an S3 bucket in the region of the deployment: --bucket BUCKET.',
    ],
    [
      '--bucket abc --bucket-owner 12',
      '--bucket-owner takes the number of an AWS account, which has 12 digits.',
    ],
    ['--bucket abc -c live', '-c takes NAME=VALUE, as in -c deployment=live.'],
    [
      '--bucket abc -c colour=red',
      'The setting colour is unknown; docs/settings.md lists them all.',
    ],
    [
      '--bucket abc -c deployment=nowhere',
      'The setting deployment must name a file: there is no deployments/nowhere.json.',
    ],
    ['--bucket abc --force', "Unknown option '--force'"],
  ])('%s: %s', (words, message) => {
    expect(() => readTemplateLine(words.split(' ').filter(Boolean))).toThrow(message);
  });
});

describe('the bucket', () => {
  const requests: (string | undefined)[] = [];
  const answers: { status: number; region?: string } = { status: 200 };
  let close = async (): Promise<void> => {};
  const before = { ...process.env };

  beforeAll(async () => {
    const server = await serve((request, response) => {
      requests.push(String(request.headers['x-amz-expected-bucket-owner']));
      response.writeHead(answers.status, { 'x-amz-bucket-region': answers.region ?? 'eu-west-1' });
      response.end();
    });
    close = server.close;
    process.env.AWS_ENDPOINT_URL = server.url;
    process.env.AWS_REGION = 'eu-west-1';
    process.env.AWS_ACCESS_KEY_ID = 'test';
    process.env.AWS_SECRET_ACCESS_KEY = 'test';
  });
  afterAll(async () => {
    process.env = before;
    await close();
  });

  beforeEach(() => {
    answers.status = 200;
  });

  const open = (given: { owner?: string; region?: string } = {}) =>
    openBucket({ bucket: 'a-bucket', owner: given.owner, region: given.region });

  test('is where the deployment is to be, without the setting region', async () => {
    answers.region = 'eu-central-1';
    const { region, addressOf } = await open();
    expect(region).toBe('eu-central-1');
    expect(addressOf('login-service/x.json')).toBe(
      'https://s3.eu-central-1.amazonaws.com/a-bucket/login-service/x.json',
    );
    answers.region = 'cn-north-1';
    expect((await open()).addressOf('x')).toBe('https://s3.cn-north-1.amazonaws.com.cn/a-bucket/x');
  });

  test('is rejected in another region than the deployment', async () => {
    answers.region = 'eu-west-1';
    await expect(open({ region: 'eu-central-1' })).rejects.toThrow(
      'The bucket a-bucket is in eu-west-1, and the deployment in eu-central-1. Lambda takes code from a bucket of its own region only: name one in eu-central-1.',
    );
  });

  test('has its owner compared by S3, since they could replace the code', async () => {
    answers.status = 403;
    await expect(open({ owner: '123456789012' })).rejects.toThrow(
      'AWS refuses the bucket a-bucket: it belongs to another account than 123456789012 (see --bucket-owner), or your credentials are not valid, or they lack s3:ListBucket on it or s3:PutObject on login-service/* in it.',
    );
    expect(requests.at(-1)).toBe('123456789012');
  });

  test('is missing', async () => {
    answers.status = 404;
    await expect(open({ region: 'eu-west-1' })).rejects.toThrow(
      'There is no bucket a-bucket. Create it in the region of the deployment: aws s3 mb s3://a-bucket --region eu-west-1',
    );
  });
});
