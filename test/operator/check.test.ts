import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import * as v from 'valibot';
import { localFiles, readStackFile } from '../../infra/local/local-files.ts';
import { type LoopbackServer, readBody, serve } from '../../infra/local/loopback-server.ts';
import { invokeFunction } from '../../infra/operator/call/invoke-function.ts';
import { checkService } from '../../infra/operator/check/check-service.ts';
import { lookAtStack, readableCheck } from '../../infra/operator/check/run-check.ts';
import { operator } from '../support/operator.ts';

const printed = v.object({
  ok: v.boolean(),
  issuer: v.string(),
  steps: v.array(
    v.object({
      step: v.string(),
      request: v.string(),
      status: v.optional(v.number()),
      milliseconds: v.number(),
      headers: v.optional(v.record(v.string(), v.string())),
      problem: v.optional(v.string()),
    }),
  ),
  problems: v.array(v.string()),
});

test('npm run operator -- check says that a stack works, call by call', async () => {
  const { code, stdout, stderr } = await operator('check', '--local');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const result = v.parse(printed, JSON.parse(stdout));
  expect(result).toMatchObject({ ok: true, problems: [] });
  expect(result.steps.map(({ step, status }) => `${step}: ${status}`)).toEqual([
    'metadata: 200',
    'signing keys: 200',
    'token: 200',
    'search: 200',
    'search without credentials: 401',
  ]);
  expect(result.steps.at(-1)?.headers).toHaveProperty('www-authenticate');
  expect(stdout).not.toMatch(/eyJ|secret/);
});

test('a terminal gets a line for each call, with all headers of its response', () => {
  const text = readableCheck({
    ok: false,
    issuer: 'https://login.example.com',
    version: '1.0.0',
    steps: [
      {
        step: 'metadata',
        request: 'GET https://…',
        status: 200,
        milliseconds: 41,
        headers: { etag: 'x' },
      },
      {
        step: 'search',
        request: 'GET https://…',
        status: 401,
        milliseconds: 1200,
        headers: { 'x-amzn-remapped-www-authenticate': 'Basic' },
        problem: 'Wrong.',
      },
    ],
    problems: ['search: Wrong.'],
  });
  expect(text).toBe(`https://login.example.com
version 1.0.0
metadata  200      41 ms  ok
  etag: x
search    401    1200 ms  WRONG
  x-amzn-remapped-www-authenticate: Basic

search: Wrong.`);
});

/**
 * Something in front of the service, which changes what it says.
 * @param typed when the check runs at a terminal
 */
async function checkBehind(
  change: (path: string, text: string) => string | number,
  typed?: string,
) {
  const { aws_endpoint: endpoint, ...stack } = readStackFile(
    localFiles(process.env.SERVICE_DIR ?? ''),
  );
  /** Has an answer name the gateway where it names the service. */
  const renamed = (text: string): string => text.replaceAll(stack.url, gateway.url);
  const gateway: LoopbackServer = await serve(async (request, response) => {
    const { method = 'GET', url = '', headers } = request;
    const { authorization = '', 'content-type': type = '' } = headers;
    const body = await readBody(request);
    const answer = await fetch(`${stack.url}${url}`, {
      method,
      headers: { ...(authorization && { authorization }), ...(type && { 'content-type': type }) },
      ...(body.length > 0 && { body }),
    });
    const changed = change(url, renamed(await answer.text()));
    if (typeof changed === 'number') response.writeHead(changed).end('<html>');
    else response.writeHead(answer.status).end(changed);
  });
  const aws = await serve(async (request, response) => {
    const event = JSON.parse((await readBody(request)).toString());
    response.end(
      renamed(JSON.stringify(await invokeFunction({ name: 'operator', endpoint }, event))),
    );
  });
  try {
    const own = mkdtempSync(join(tmpdir(), 'check-'));
    const aws_endpoint = { ...endpoint, url: aws.url };
    writeFileSync(join(own, 'stack.json'), JSON.stringify({ ...stack, aws_endpoint }));
    const { code, stdout, stderr } = await operator.at(own, typed)('check', '--local');
    expect(stderr).toBe('');
    return { code, stdout };
  } finally {
    await Promise.all([gateway.close(), aws.close()]);
  }
}

const problemsIn = ({ stdout }: { stdout: string }) =>
  v.parse(printed, JSON.parse(stdout)).problems;

test('a failing token route, a token that nobody can verify and a lost challenge are named', async () => {
  const failing = await checkBehind((path, text) => (path.endsWith('/token') ? 502 : text));
  expect(failing.code).toBe(2);
  expect(problemsIn(failing)).toEqual([
    'token: The status is 502 instead of 200. Look for request_failed in the logs of the functions.',
    'search without credentials: The 401 has no WWW-Authenticate header, under no name: something in front of the service drops it.',
  ]);
  // Its issuer is the address of the service itself.
  expect(problemsIn(await checkBehind((_, text) => text))[0]).toBe(
    'token: The token cannot be verified with the published keys, the issuer and the audience: verifiers reject it.',
  );
});

test.each(['token_endpoint', 'jwks_uri'])(
  'a %s on another host gets no request and no secret',
  async (name) => {
    const asked: (string | undefined)[] = [];
    const elsewhere = await serve(({ url }, response) => {
      asked.push(url);
      response.end('{}');
    });
    const led = await checkBehind((path, text) =>
      path.startsWith('/.well-known/')
        ? JSON.stringify({ ...JSON.parse(text), [name]: elsewhere.url })
        : text,
    );
    await elsewhere.close();
    expect({ code: led.code, asked }).toEqual({ code: 2, asked: [] });
    expect(problemsIn(led)).toEqual([
      expect.stringMatching(
        /^metadata: The metadata leads away from http:\S+\. The check goes no further, since it would send a secret there\.$/,
      ),
    ]);
  },
);

test('nothing that the check was told can steer the terminal or add a line', async () => {
  const issuer = 'http://a\u009b2J\nEverything works.';
  const change = (path: string, text: string) =>
    path.includes('/.well-known/') ? JSON.stringify({ ...JSON.parse(text), issuer }) : text;
  const { stdout } = await checkBehind(change, '');
  expect(stdout).toMatch(
    /^metadata: The issuer is http:\/\/a\\u009b2J\\u000aEverything works\., not /m,
  );
});

test('a service without signing keys gets no further request, and the check says where to look', async () => {
  const service = await serve(({ url = '' }, response) => {
    const [token_endpoint, jwks_uri] = [`${service.url}/token`, `${service.url}/keys`];
    response.end(
      JSON.stringify(
        url === '/keys' ? { keys: [] } : { issuer: service.url, token_endpoint, jwks_uri },
      ),
    );
  });
  const ofApp = { login_app_id: 'la', client_id: 'cl', client_secret: 'x' };
  const ofAccount = { account_id: 'ac', account_secret: 'y', access_request_id: 1 };
  const steps = await checkService({ issuer: service.url, ...ofApp, ...ofAccount });
  await service.close();
  expect(steps.at(-1)).toMatchObject({
    step: 'signing keys',
    problem: 'There is no key: read the log of rotate-signing-keys.',
  });
});

const folder = mkdtempSync(join(tmpdir(), 'deployments-'));
writeFileSync(join(folder, 'live.json'), JSON.stringify({ stage: 'production' }));

const asDeployed = {
  deployment: 'live',
  stage: 'production',
  domainName: 'none',
  tableName: 'own',
};
const withProtection = { status: 'UPDATE_COMPLETE', protection: true, kept: asDeployed };

/** What the check says about a stack that CloudFormation describes so. */
async function whatIsSaidOf(stack: {
  status: string;
  protection: boolean;
  kept: Record<string, string>;
}): Promise<unknown> {
  const pins = Object.entries(stack.kept).map(([pin, value]) => ({
    name: `Pinned${pin.charAt(0).toUpperCase()}${pin.slice(1)}`,
    value,
  }));
  const members = (key: string, value: string, suffix = ''): string =>
    pins
      .map(
        (pin) =>
          `<member><${key}>${pin.name}${suffix}</${key}><${value}>${pin.value}</${value}></member>`,
      )
      .join('');
  const cloudFormation = await serve((_, response) => {
    response.end(`<DescribeStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/">
      <DescribeStacksResult><Stacks><member><StackName>live</StackName>
        <CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>${stack.status}</StackStatus>
        <EnableTerminationProtection>${stack.protection}</EnableTerminationProtection>
        <Parameters>${members('ParameterKey', 'ParameterValue')}</Parameters>
        <Outputs><member><OutputKey>Version</OutputKey><OutputValue>1.0.0</OutputValue></member>${members('OutputKey', 'OutputValue', 'Value')}</Outputs>
      </member></Stacks></DescribeStacksResult></DescribeStacksResponse>`);
  });
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_CLOUDFORMATION: cloudFormation.url,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'x',
    AWS_SECRET_ACCESS_KEY: 'x',
  });
  try {
    return await lookAtStack('live', folder);
  } finally {
    delete process.env.AWS_ENDPOINT_URL_CLOUDFORMATION;
    await cloudFormation.close();
  }
}

test.each([
  ['as its file says', withProtection, []],
  [
    'whose update failed',
    { ...withProtection, status: 'UPDATE_FAILED' },
    ["The stack is in the state UPDATE_FAILED: its last deployment hasn't ended, or has failed."],
  ],
  [
    'of production without termination protection',
    { ...withProtection, protection: false },
    ['The stack is production but has no termination protection: deploy it again.'],
  ],
  [
    'with another domain than its file',
    { ...withProtection, kept: { ...asDeployed, domainName: 'login.example.com' } },
    [
      'The stack was deployed with domainName login.example.com, but deployments/live.json says none.',
    ],
  ],
  [
    'without pins',
    { ...withProtection, kept: {} },
    [
      "The stack doesn't keep deployment, stage, domainName, tableName: deploy it once more, without change.",
    ],
  ],
])('the check of a deployed stack %s', async (_, stack, problems) => {
  expect(await whatIsSaidOf(stack)).toEqual({ version: '1.0.0', problems });
});
