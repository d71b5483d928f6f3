import { afterAll, describe, expect, test } from '@jest/globals';
import { serve } from '../../infra/local/loopback-server.ts';

/** STS, asked about a request that somebody has signed in an account of their own. */
let knownAs = '';
const sts = await serve((_, response) => void response.end(`<Arn>${knownAs}</Arn>`));
process.env.AWS_ENDPOINT_URL_STS = sts.url;
afterAll(() => sts.close());
const { identifyOperator } = await import('../../lib/operator/operator-call.ts');

const functionArn = 'arn:aws:lambda:eu-central-1:111111111111:function:login-service-operator';
const proof = new URLSearchParams({
  Action: 'GetCallerIdentity',
  Version: '2011-06-15',
  'X-Amz-SignedHeaders': 'host;x-login-service-command',
}).toString();
const identify = () =>
  identifyOperator({ noun: 'accounts', verb: 'list', flags: {}, proof }, functionArn);

describe('an operator cannot hide behind a name in an AWS account of their own', () => {
  test.each([
    'arn:aws:sts::222222222222:assumed-role/Admin/alice',
    'arn:aws:iam::222222222222:user/111111111111',
    'arn:aws:sts::222222222222:assumed-role/Admin/arn:aws:iam::111111111111:user',
    'alice',
  ])('[CWE-290] %s is nobody here', async (arn) => {
    knownAs = arn;
    await expect(identify()).rejects.toMatchObject({ code: 'unauthorized' });
  });

  test('[CWE-290] the same name in the account of the function is known', async () => {
    knownAs = 'arn:aws:sts::111111111111:assumed-role/Admin/alice';
    expect(await identify()).toBe(knownAs);
  });
});
