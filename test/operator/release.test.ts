import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pascal } from '../../infra/endpoints.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { operator } from '../support/operator.ts';

/** A function of the stand-in for AWS: the version of its alias, and those that it has kept. */
interface Function {
  live: number;
  deployed: number;
  /** The day in January on which each was published. */
  versions: Record<number, number>;
  tables: Record<number, string>;
  isShifting: boolean;
  revision: number;
}

/** The deployed stack `live`, whose last deployment began on the 20th. */
const aws = {
  status: '',
  functions: new Map<string, Function>(),
  isOperatorBroken: false,
  notes: [] as unknown[],
  stopped: [] as unknown[],
  /** Whether CodeDeploy runs a deployment of each function. */
  isDeploying: true,
  /** Called before each alias is moved. */
  beforeMove: (_: string): void => undefined,
};

function newFunction(versions: Function['versions'], live: number): Function {
  return { live, deployed: live, versions, tables: {}, isShifting: false, revision: 1 };
}
const functionNamed = (key: string): Function => {
  const found = aws.functions.get(key);
  if (!found) throw new Error(`There is no ${key}.`);
  return found;
};
const liveOf = () => Object.fromEntries([...aws.functions].map(([key, { live }]) => [key, live]));

beforeEach(() => {
  Object.assign(aws, { status: 'UPDATE_COMPLETE', isOperatorBroken: false, isDeploying: true });
  Object.assign(aws, { notes: [], stopped: [] });
  aws.beforeMove = () => undefined;
  aws.functions = new Map([
    ['issue-token', newFunction({ 3: 1, 5: 10, 6: 20 }, 6)],
    ['add-comment', newFunction({ 2: 10, 3: 20 }, 3)],
    // The last deployment left it as it was.
    ['list-devices', newFunction({ 7: 1, 8: 10 }, 8)],
  ]);
});

const day = (number: number): string => `2026-01-${String(number).padStart(2, '0')}T08:00:00.000Z`;
const xml = (action: string, content: string): string =>
  `<${action}Response xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/"><${action}Result>${content}</${action}Result></${action}Response>`;

const cloudFormation: Record<string, () => string> = {
  DescribeStacks: () =>
    `<Stacks><member><StackName>live</StackName><StackStatus>${aws.status}</StackStatus>
      <CreationTime>${day(1)}</CreationTime><LastUpdatedTime>${day(20)}</LastUpdatedTime></member></Stacks>`,
  ListStackResources: () => {
    const members = [...aws.functions].flatMap(([key, { deployed }]) =>
      [
        ['Alias', `${pascal(key)}Live`, 'live'],
        ['Version', `${pascal(key)}CurrentVersion0a1b`, deployed],
      ].map(
        ([type, id, qualifier]) => `<member><ResourceType>AWS::Lambda::${type}</ResourceType>
        <LogicalResourceId>${id}</LogicalResourceId><ResourceStatus>UPDATE_COMPLETE</ResourceStatus>
        <PhysicalResourceId>arn:aws:lambda:eu-central-1:123456789012:function:${key}:${qualifier}</PhysicalResourceId>
        <LastUpdatedTimestamp>${day(21)}</LastUpdatedTimestamp></member>`,
      ),
    );
    return `<StackResourceSummaries>${members.join('')}</StackResourceSummaries>`;
  },
};

const aliasOf = ({ live, isShifting, revision }: Function) => ({
  Name: 'live',
  FunctionVersion: String(live),
  RevisionId: String(revision),
  RoutingConfig: isShifting ? { AdditionalVersionWeights: { [live + 1]: 0.1 } } : undefined,
});

function lambda(method: string, key: string, what: string, body: string): object {
  if (what === 'invocations') {
    if (aws.isOperatorBroken) throw new Error('Broken.');
    const { noun, verb, flags } = JSON.parse(body);
    aws.notes.push([key, `${noun} ${verb}`, flags]);
    return { result: {} };
  }
  const found = functionNamed(key);
  if (what === 'versions') {
    const versions = Object.entries(found.versions).map(([Version, published]) => ({
      Version,
      LastModified: day(published).replace('Z', '+0000'),
      Environment: { Variables: { TABLE_NAME: found.tables[Number(Version)] ?? 'the-table' } },
    }));
    return { Versions: [{ Version: '$LATEST', LastModified: day(25) }, ...versions] };
  }
  if (method === 'PUT') {
    aws.beforeMove(key);
    const { FunctionVersion, RevisionId } = JSON.parse(body);
    if (RevisionId !== String(found.revision)) throw new Error('The RevisionId is another one.');
    Object.assign(found, { live: Number(FunctionVersion), revision: found.revision + 1 });
  }
  return aliasOf(found);
}

const others: Record<string, (input: ReturnType<typeof Object>) => object> = {
  'CodeDeploy_20141006.ListDeployments': ({ applicationName, deploymentGroupName }) => ({
    deployments: aws.isDeploying ? [`d-${applicationName}-${deploymentGroupName}`] : [],
  }),
  'CodeDeploy_20141006.StopDeployment': (input) => {
    aws.stopped.push(input);
    return { status: 'Pending' };
  },
  'GraniteServiceVersion20100801.GetMetricData': ({ MetricDataQueries }) => ({
    MetricDataResults: MetricDataQueries.map(
      ({ Id, MetricStat: { Metric } }: ReturnType<typeof Object>) => {
        const { Namespace, MetricName, Dimensions } = Metric;
        const values = Object.fromEntries(
          Dimensions.map(({ Name, Value }: ReturnType<typeof Object>) => [Name, Value]),
        );
        const asked = [Namespace, MetricName, ...Object.values(values)].join(' ');
        const known: Record<string, number[]> = {
          'AWS/Lambda Invocations issue-token issue-token:live': [400, 100],
          'AWS/Lambda Errors issue-token issue-token:live': [1],
          'live ServerErrors issue-token 6': [20, 9],
        };
        return { Id, Values: known[asked] ?? [] };
      },
    ),
  }),
};

const server = await serve(async (request, response) => {
  const body = (await readBody(request)).toString();
  const [, key = '', what = ''] = request.url?.match(/functions\/([^/]+)\/(\w+)/) ?? [];
  const target = String(request.headers['x-amz-target']);
  const action = String(new URLSearchParams(body).get('Action'));
  try {
    if (key) response.end(JSON.stringify(lambda(String(request.method), key, what, body)));
    else if (others[target]) response.end(JSON.stringify(others[target](JSON.parse(body))));
    else response.end(xml(action, cloudFormation[action]?.() ?? ''));
  } catch (error) {
    response.writeHead(412, { 'x-amzn-errortype': 'PreconditionFailedException' });
    response.end(JSON.stringify({ message: error instanceof Error ? error.message : '' }));
  }
});
afterAll(() => server.close());
Object.assign(process.env, {
  AWS_ENDPOINT_URL: server.url,
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'x',
  AWS_SECRET_ACCESS_KEY: 'x',
});

const release = (...words: string[]) => operator('release', ...words, '--stack', 'live');
const atTerminal = (typed: string, ...words: string[]) =>
  operator.atTerminal(typed)('release', ...words, '--stack', 'live', '--json');
const hint =
  'Warning: Make the next deployment with -c canary=false, and run release forward after it: see docs/maintenance.md, "Go back".\n';
const failsWith = (stderr: string) => ({ code: 1, stdout: '', stderr: `${stderr}\n` });

describe('npm run operator release back', () => {
  const asked =
    'release back moves add-comment from version 3 to 2, issue-token from version 6 to 5, on the deployed stack live.';

  test('moves what the last deployment changed to the version before, after asking, and notes it', async () => {
    const { code, stdout, stderr } = await atTerminal('y\n', 'back');
    expect({ code, stderr }).toEqual({ code: 0, stderr: `${asked} Continue? [y/N] ${hint}` });
    expect(JSON.parse(stdout)).toEqual({
      stack: 'live',
      functions: [
        { function: 'add-comment', from: 3, to: 2 },
        { function: 'issue-token', from: 6, to: 5 },
      ],
    });
    expect(liveOf()).toEqual({ 'issue-token': 5, 'add-comment': 2, 'list-devices': 8 });
    const versions = 'add-comment:2,issue-token:5';
    expect(aws.notes).toEqual([['live-operator', 'release note', { versions }]]);
  });

  test('changes nothing after n, nor without an answer', async () => {
    const before = liveOf();
    expect(await atTerminal('n\n', 'back')).toMatchObject({
      ...failsWith(`${asked} Continue? [y/N] Nothing was changed.`),
    });
    expect(await release('back')).toEqual(failsWith(`${asked} Add --yes to confirm it.`));
    expect([liveOf(), aws.notes]).toEqual([before, []]);
  });

  test('changes nothing when it is repeated, and goes one further for named functions', async () => {
    await release('back', '--yes');
    const { code, stderr } = await release('back', '--yes');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'No version that was published since 2026-01-20T08:00:00.000Z, when the last deployment began, is live. To go further back, name functions with --function; see release show.\n',
    });
    expect((await release('back', '--yes', '--function', 'issue-token', 'list-devices')).code).toBe(
      0,
    );
    expect(liveOf()).toEqual({ 'issue-token': 3, 'add-comment': 2, 'list-devices': 7 });
    expect(await release('back', '--yes', '--function', 'issue-token')).toEqual(
      failsWith('issue-token stays: it has no version before 3.'),
    );
  });

  test('leaves a new function alone, and says so', async () => {
    aws.functions.set('end-session', newFunction({ 1: 20 }, 1));
    const { code, stderr } = await release('back', '--yes');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `Warning: end-session stays: it has no version before 1.\n${hint}`,
    });
    expect(liveOf()).toEqual({
      'issue-token': 5,
      'add-comment': 2,
      'list-devices': 8,
      'end-session': 1,
    });
  });

  test('never goes back to another table', async () => {
    functionNamed('issue-token').tables = { 5: 'the-old-table' };
    expect(await release('back', '--yes')).toEqual(
      failsWith(
        'Version 5 of issue-token works on the table the-old-table, the live one on the-table: deploy instead.',
      ),
    );
    expect(liveOf()).toMatchObject({ 'issue-token': 6, 'add-comment': 3 });
  });

  test('moves no function that somebody else has just moved', async () => {
    aws.beforeMove = (key) => {
      if (key === 'issue-token') functionNamed(key).revision += 1;
    };
    const { code, stderr } = await release('back', '--yes');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `Warning: issue-token was not moved: The RevisionId is another one.\n${hint}`,
    });
    expect(liveOf()).toMatchObject({ 'issue-token': 6, 'add-comment': 2 });
    expect(aws.notes).toEqual([['live-operator', 'release note', { versions: 'add-comment:2' }]]);
  });

  test('works when the operator function does not, and says how to note it later', async () => {
    aws.isOperatorBroken = true;
    const { code, stderr } = await release('back', '--yes');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `Warning: The audit log has no line about it: Broken. Later, run release note --versions add-comment:2,issue-token:5 --stack live.\n${hint}`,
    });
    expect(liveOf()).toMatchObject({ 'issue-token': 5, 'add-comment': 2 });
  });

  test('ends the canaries of a deployment that is under way, and lets CloudFormation roll it back', async () => {
    aws.status = 'UPDATE_IN_PROGRESS';
    functionNamed('add-comment').isShifting = true;
    const before = liveOf();
    const { code, stdout, stderr } = await atTerminal('y\n', 'back');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        'release back stops the canaries, which rolls the whole deployment back, on the deployed stack live. Continue? [y/N] ',
    });
    expect(JSON.parse(stdout)).toEqual({ stack: 'live', stopped_canaries: ['add-comment'] });
    expect(aws.stopped).toEqual([
      { deploymentId: 'd-live-add-comment', autoRollbackEnabled: true },
    ]);
    expect(liveOf()).toEqual(before);
    aws.isDeploying = false;
    const { code: nothingStopped, stderr: why } = await release('back', '--yes');
    expect([nothingStopped, why]).toEqual([
      2,
      'Warning: CodeDeploy runs no deployment: look again with release show.\n',
    ]);
  });

  test.each([
    [
      'UPDATE_IN_PROGRESS',
      ['--function', 'issue-token'],
      'A deployment is under way. Roll it back as a whole: with release back alone while it has a canary, else with aws cloudformation cancel-update-stack --stack-name live.',
    ],
    [
      'UPDATE_ROLLBACK_FAILED',
      [],
      'The stack is in the state UPDATE_ROLLBACK_FAILED: see docs/maintenance.md, "When an update can\'t be rolled back".',
    ],
    [
      'UPDATE_COMPLETE',
      ['--function', 'issue-tokens'],
      'No function with an endpoint is called issue-tokens. Choose from add-comment, issue-token, list-devices.',
    ],
  ])('in the state %s with %j changes nothing', async (status, words, line) => {
    aws.status = status;
    const before = liveOf();
    expect(await release('back', '--yes', ...words)).toEqual(failsWith(line));
    expect(liveOf()).toEqual(before);
  });

  test('moves named functions when a roll-back has failed', async () => {
    aws.status = 'UPDATE_ROLLBACK_FAILED';
    expect((await release('back', '--yes', '--function', 'issue-token')).code).toBe(0);
    expect(liveOf()).toEqual({ 'issue-token': 5, 'add-comment': 3, 'list-devices': 8 });
  });

  test('is for deployed stacks alone', async () => {
    expect(await operator('release', 'back', '--local')).toEqual(
      failsWith('Only deployed stacks have versions: name one with --stack.'),
    );
  });
});

test('npm run operator release forward makes live what was deployed last', async () => {
  await release('back', '--yes');
  expect((await release('forward', '--yes')).code).toBe(0);
  expect(liveOf()).toEqual({ 'issue-token': 6, 'add-comment': 3, 'list-devices': 8 });
  expect(aws.notes.at(-1)).toEqual([
    'live-operator',
    'release note',
    { versions: 'add-comment:3,issue-token:6' },
  ]);
  expect(await release('forward', '--yes')).toEqual(
    failsWith('What was deployed last is live already.'),
  );
});

test('npm run operator release show says what is live, since when, and its errors', async () => {
  await release('back', '--yes', '--function', 'add-comment');
  const { code, stdout, stderr } = await release('show');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const quiet = { canary: false, requests_15_min: 0, errors_15_min: 0 };
  const deployed = { ...quiet, live_from: day(21) };
  const issuing = { ...deployed, function: 'issue-token', requests_15_min: 500, errors_15_min: 30 };
  const listing = { ...deployed, function: 'list-devices' };
  expect(JSON.parse(stdout)).toEqual({
    stack: 'live',
    status: 'UPDATE_COMPLETE',
    last_deployment_from: day(20),
    functions: [
      { ...quiet, function: 'add-comment', version: 2, deployed_version: 3 },
      { ...issuing, version: 6, deployed_version: 6, version_before: 5 },
      { ...listing, version: 8, deployed_version: 8, version_before: 7 },
    ],
  });
});
