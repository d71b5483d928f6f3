import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { pascal } from '../../infra/endpoints.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { startOwnTable } from '../support/own-table.ts';

/** A stack in which each function has the version 6 live, which was deployed last. */
const aws = {
  status: '',
  live: new Map<string, number>(),
  told: [] as { Status: string; Reason?: string }[],
};
const keys = [
  'add-comment',
  'end-session',
  'issue-token',
  'list-devices',
  'search-events',
  'show-login-user',
];

beforeEach(() => {
  aws.status = 'UPDATE_IN_PROGRESS';
  aws.live = new Map(keys.map((key) => [key, 6]));
  aws.told = [];
});

const member = (key: string, type: string, id: string, qualifier: string | number) => `<member>
  <ResourceType>AWS::Lambda::${type}</ResourceType><LogicalResourceId>${pascal(key)}${id}</LogicalResourceId>
  <PhysicalResourceId>arn:aws:lambda:eu-central-1:123456789012:function:live-${key}:${qualifier}</PhysicalResourceId></member>`;

const answers: Record<string, () => string> = {
  DescribeStacks: () =>
    `<Stacks><member><StackStatus>${aws.status}</StackStatus></member></Stacks>`,
  ListStackResources: () =>
    `<StackResourceSummaries>${keys
      .flatMap((key) => [
        member(key, 'Alias', 'Live', 'live'),
        member(key, 'Version', 'CurrentVersion0a1b', 6),
      ])
      .join('')}</StackResourceSummaries>`,
};

/** CloudFormation, Lambda, and where the answers of custom resources go. */
const server = await serve(async (request, response) => {
  const body = (await readBody(request)).toString();
  const [, key = ''] = request.url?.match(/functions\/live-([^/]+)\/aliases\/live/) ?? [];
  if (key) return response.end(JSON.stringify({ FunctionVersion: String(aws.live.get(key)) }));
  if (request.method === 'PUT') {
    aws.told.push(JSON.parse(body));
    return response.end();
  }
  const action = String(new URLSearchParams(body).get('Action'));
  const result = `<${action}Result>${answers[action]?.()}</${action}Result>`;
  return response.end(`<${action}Response>${result}</${action}Response>`);
});
afterAll(() => server.close());
await startOwnTable();
Object.assign(process.env, {
  AWS_ENDPOINT_URL_CLOUDFORMATION: server.url,
  AWS_ENDPOINT_URL_LAMBDA: server.url,
});
const { guardTableFormat } = await import('../../lib/release/guard-table-format.ts');

/** Does what CloudFormation does before it changes any function. */
async function begin(properties: object = { LiveVersions: 'as deployed' }) {
  await guardTableFormat({
    RequestType: 'Update',
    ResponseURL: server.url,
    StackId: 'arn:aws:cloudformation:eu-central-1:123456789012:stack/live/1234',
    RequestId: 'a-request',
    LogicalResourceId: 'TableFormat',
    ResourceProperties: { Step: 'check', Format: '1', ...properties },
  });
  return aws.told;
}

test('a deployment begins when what was deployed last is live', async () => {
  expect(await begin()).toMatchObject([{ Status: 'SUCCESS' }]);
});

test('after release back, one with a canary ends before it changes a function, with the commands to give', async () => {
  aws.live.set('issue-token', 5);
  aws.live.set('add-comment', 4);
  expect(await begin()).toMatchObject([
    {
      Status: 'FAILED',
      Reason:
        'Other versions are live than those deployed last, as after release back: add-comment (4 instead of 6), issue-token (5 instead of 6). Nothing was changed. Deploy again with -c canary=false, and then run: npm run -s operator -- release forward --stack live',
    },
  ]);
});

test('the reason names five functions at most', async () => {
  for (const key of keys) aws.live.set(key, 5);
  const [{ Reason } = {}] = await begin();
  expect(Reason?.match(/5 instead of 6/g)).toHaveLength(5);
  expect(Reason).toContain('search-events (5 instead of 6) and 1 more.');
});

test.each([
  ['without a canary, which CodeDeploy has no part in', 'UPDATE_IN_PROGRESS', {}],
  ['that is rolled back, which must come to its end', 'UPDATE_ROLLBACK_IN_PROGRESS', undefined],
  ['of a new stack', 'CREATE_IN_PROGRESS', undefined],
])('one %s goes on', async (_, status, properties) => {
  aws.live.set('issue-token', 5);
  aws.status = status;
  expect(await begin(properties)).toMatchObject([{ Status: 'SUCCESS' }]);
});
