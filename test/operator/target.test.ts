import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { localFiles, readStackFile } from '../../infra/local/local-files.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { invokeFunction } from '../../infra/operator/call/invoke-function.ts';
import { stackDescription } from '../../infra/version.ts';
import { operator, operatorProcess } from '../support/operator.ts';

const command = ['accounts', 'create', '--name=x'];

/** Makes this the only AWS configuration of the environment. */
function useAws(configuration: Record<string, string>): void {
  for (const name of Object.keys(process.env))
    if (name.startsWith('AWS_')) delete process.env[name];
  const none = { AWS_CONFIG_FILE: '/nowhere', AWS_SHARED_CREDENTIALS_FILE: '/nowhere' };
  Object.assign(process.env, none, { AWS_EC2_METADATA_DISABLED: 'true' }, configuration);
}

/** Runs a command line in an environment without any AWS configuration but this. */
function run({ LOCAL_DIR = '/nowhere', ...aws }: Record<string, string>, ...words: string[]) {
  useAws(aws);
  return operator.at(LOCAL_DIR)(...command, ...words);
}

const credentials = {
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'id',
  AWS_SECRET_ACCESS_KEY: 'secret',
};

const failsWith = (stderr: string) => ({ code: 1, stdout: '', stderr: `${stderr}\n` });

describe('npm run operator -- --local, when no stack runs in the folder', () => {
  const noStack = (folder: string) =>
    failsWith(
      `No stack runs with its files in ${folder}. Start one with npm start, or name the folder of one that was started elsewhere: LOCAL_DIR=CLONE/.local.`,
    );

  test('because none was started', async () => {
    expect(await operator.at('/nowhere')(...command, '--local')).toEqual(noStack('/nowhere'));
  });

  test.each([
    'http://192.0.2.1:8080',
    'http://127.0.0.1@192.0.2.1',
    'http://localhost:1',
    'https://127.0.0.1',
  ])('but its file names %s: nothing is sent there', async (url) => {
    const directory = mkdtempSync(join(tmpdir(), 'login-service-'));
    const stack = { pid: 1, url, aws_endpoint: { url, secret_access_key: 'x' } };
    writeFileSync(join(directory, 'stack.json'), JSON.stringify(stack));
    expect(await operator.at(directory)(...command, '--local')).toEqual(
      failsWith(
        `The file ${directory}/stack.json names another address than 127.0.0.1, to which --local sends nothing. Restart the stack, which writes it anew.`,
      ),
    );
  });

  test('because the one that ran was killed, and left its files behind', async () => {
    const closed = await serve((_, response) => response.end());
    await closed.close();
    const directory = mkdtempSync(join(tmpdir(), 'login-service-'));
    const { pid } = spawnSync(process.execPath, ['--version']);
    const stack = {
      pid,
      url: closed.url,
      aws_endpoint: { url: closed.url, secret_access_key: 'x' },
    };
    writeFileSync(join(directory, 'stack.json'), JSON.stringify(stack));
    expect(await operatorProcess({ LOCAL_DIR: directory }, ...command, '--local')).toEqual(
      noStack(directory),
    );
  });
});

test.each([
  ['an empty name', ['--stack='], '--stack must not be empty.'],
  [
    'two',
    ['--local', '--stack', 'x'],
    "option '--stack <name>' cannot be used with option '--local'. See --help.",
  ],
])('npm run operator for %s', async (_, flags, line) => {
  expect(await operator(...command, ...flags)).toEqual(failsWith(line));
});

describe('npm run operator without --local and --stack says which stacks there are, and changes nothing', () => {
  const nothing = 'Name the stack, with --local or --stack NAME; nothing was changed.';

  test('one runs on this machine, and AWS cannot be asked', async () => {
    const { SERVICE_DIR: LOCAL_DIR = '' } = process.env;
    const { url } = JSON.parse(readFileSync(join(LOCAL_DIR, 'stack.json'), 'utf8'));
    const line = `${nothing} --local is the one at ${url}. AWS could not be asked which are deployed. No AWS region is set: set AWS_REGION, or AWS_PROFILE to a profile with a region.`;
    expect(await run({ LOCAL_DIR })).toEqual(failsWith(line));
  });

  test('some are deployed, among stacks of others', async () => {
    const member = (name: string, description: string) =>
      `<member><StackName>${name}</StackName><TemplateDescription>${description}</TemplateDescription>
        <CreationTime>2026-01-01T00:00:00Z</CreationTime><StackStatus>CREATE_COMPLETE</StackStatus></member>`;
    const members = ['staging', 'live'].map((name) => member(name, stackDescription));
    const cloudFormation = await serve((_, response) => {
      response.end(`<ListStacksResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/">
        <ListStacksResult><StackSummaries>${members.join('')}${member('shop', 'A shop')}</StackSummaries>
        </ListStacksResult></ListStacksResponse>`);
    });
    try {
      const listed = run({ ...credentials, AWS_ENDPOINT_URL_CLOUDFORMATION: cloudFormation.url });
      const line = `${nothing} --local would be the one with its files in /nowhere, which is not running. Deployed in this AWS account and region: live, staging.`;
      expect(await listed).toEqual(failsWith(line));
    } finally {
      await cloudFormation.close();
    }
  });
});

describe('npm run operator: a deployed stack that it cannot reach', () => {
  const runOnStack = (environment: Record<string, string>) =>
    run(environment, '--stack=login-service');

  test.each([
    [{}, 'No AWS region is set: set AWS_REGION, or AWS_PROFILE to a profile with a region.'],
    [
      { AWS_REGION: 'eu-central-1' },
      'No AWS credentials were found: log in with aws sso login, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    ],
    [
      { AWS_PROFILE: 'nobody', AWS_REGION: 'eu-central-1' },
      'No AWS credentials were found: log in with aws sso login, or set AWS_PROFILE (now nobody), or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    ],
  ])('with %j alone', async (environment, line) => {
    expect(await runOnStack(environment)).toEqual(failsWith(line));
  });

  test.each([
    ['http://nowhere.invalid', /getaddrinfo (ENOTFOUND|EAI_AGAIN) nowhere\.invalid/],
    ['http://127.0.0.1:1', /connect ECONNREFUSED 127\.0\.0\.1:1/],
  ])('no connection to %s', async (AWS_ENDPOINT_URL_LAMBDA, why) => {
    // In a process of its own, since jest's errors of connections are others.
    useAws({ ...credentials, AWS_ENDPOINT_URL_LAMBDA });
    const { stderr, ...ended } = await operatorProcess({}, ...command, '--stack=login-service');
    expect(ended).toEqual({ code: 1, stdout: '' });
    const [, reason] =
      stderr.match(/^AWS cannot be reached \((.+)\): check the network, .+\.\n$/) ?? [];
    expect(reason).toMatch(why);
  });

  test('no such stack', async () => {
    const lambda = await serve((_, response) => {
      response.writeHead(404, { 'x-amzn-errortype': 'ResourceNotFoundException' }).end('{}');
    });
    const endpoint = { AWS_ENDPOINT_URL_LAMBDA: lambda.url };
    const line = (profile: string) =>
      `There is no function login-service-operator in this AWS account and region. Name another stack with --stack, or change ${profile} or AWS_REGION.`;
    expect(await runOnStack({ ...credentials, ...endpoint })).toEqual(
      failsWith(line('AWS_PROFILE')),
    );
    const AWS_CONFIG_FILE = join(mkdtempSync(join(tmpdir(), 'aws-')), 'config');
    const keys = ['region=eu-central-1', 'aws_access_key_id=id', 'aws_secret_access_key=secret'];
    writeFileSync(AWS_CONFIG_FILE, ['[profile other]', ...keys].join('\n'));
    expect(await runOnStack({ AWS_CONFIG_FILE, AWS_PROFILE: 'other', ...endpoint })).toEqual(
      failsWith(line('AWS_PROFILE (now other)')),
    );
    await lambda.close();
  });

  test.each([
    [
      'ExpiredTokenException',
      'Your AWS credentials have expired: log in again, for example with aws sso login.',
    ],
    [
      'UnrecognizedClientException',
      'AWS does not accept your credentials: check AWS_PROFILE, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
    ],
    ['AccessDeniedException', 'As AWS says.'],
  ])('%s', async (type, line) => {
    const lambda = await serve((_, response) => {
      response.writeHead(403, { 'x-amzn-errortype': type }).end('{"message":"As AWS says."}');
    });
    try {
      expect(await runOnStack({ ...credentials, AWS_ENDPOINT_URL_LAMBDA: lambda.url })).toEqual(
        failsWith(line),
      );
    } finally {
      await lambda.close();
    }
  });
});

describe('npm run operator, when the answer of the operator function is lost', () => {
  const { aws_endpoint: endpoint, ...stack } = readStackFile(
    localFiles(process.env.SERVICE_DIR ?? ''),
  );

  /**
   * Runs a command on the shared stack, whose first answer never arrives; how often the command was
   * carried out too.
   */
  async function runLosingOne(...words: string[]) {
    let calls = 0;
    const between = await serve(async (request, response) => {
      const event = JSON.parse((await readBody(request)).toString());
      const answer = await invokeFunction({ name: 'operator', endpoint }, event);
      calls += 1;
      if (calls === 1) response.destroy();
      else response.end(JSON.stringify(answer));
    });
    const directory = mkdtempSync(join(tmpdir(), 'login-service-'));
    const aws_endpoint = { ...endpoint, url: between.url };
    writeFileSync(join(directory, 'stack.json'), JSON.stringify({ ...stack, aws_endpoint }));
    try {
      return {
        calls: () => calls,
        ...(await operatorProcess({ LOCAL_DIR: directory }, ...words, '--local')),
      };
    } finally {
      await between.close();
    }
  }

  test('a command that reads is sent again', async () => {
    const { code, calls } = await runLosingOne('accounts', 'list');
    expect({ code, calls: calls() }).toEqual({ code: 0, calls: 2 });
  });

  test('one that writes is not, and the line says where to look', async () => {
    const { calls, ...ended } = await runLosingOne('accounts', 'create', '--name=x');
    const line =
      'No answer came, so accounts create may have been carried out: its audit line says so. Look there before you run it again.';
    expect({ ...ended, calls: calls() }).toEqual({ ...failsWith(line), calls: 1 });
  });
});
