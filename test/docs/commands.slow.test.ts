import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type RunningService, startService } from '../support/start-service.ts';

/** A block of shell lines and, where the page shows one, what they print. */
interface Example {
  lines: string;
  promised: string | undefined;
}

// A copy of the project's folder, so that a page's `.local` and files are this test's alone.
const folder = mkdtempSync(join(tmpdir(), 'docs-'));
afterAll(() => rmSync(folder, { recursive: true }));
for (const name of readdirSync('.')) {
  if (!name.startsWith('.')) symlinkSync(resolve(name), join(folder, name));
}
// Each page has a stack of its own: operators' lines revoke what others log in with.
let running: RunningService;
beforeEach(async () => {
  running = await startService();
  useStack(running);
});
afterEach(() => running.stop());

function useStack({ directory }: RunningService): void {
  rmSync(join(folder, '.local'), { force: true });
  symlinkSync(directory, join(folder, '.local'));
}

const [, section = ''] = readFileSync('README.md', 'utf8').match(/^## Try it$(.*?)^## /ms) ?? [];
// Lines with SAM need containers: `npm run test:sam` runs them.
const tryIt = examplesOf(section).filter(({ lines }) => !lines.includes('sam local invoke'));

test('the lines under "Try it" in the README print what it says', () => expectPromised(tryIt));

test('the lines in the client guide print what it says', () => {
  const [variables] = tryIt;
  const guide = examplesOf(readFileSync('docs/client-guide.md', 'utf8'));
  expectPromised([
    { lines: variables?.lines.replace(/^# What.*/ms, '') ?? '', promised: undefined },
    ...guide,
  ]);
});

test('the lines about importing print what the page says, and write nothing into the folder', () => {
  const files = readdirSync(folder);
  expectPromised(examplesOf(readFileSync('docs/importing.md', 'utf8')));
  expect(readdirSync(folder)).toEqual(files);
});

test('the lines about tokens of providers work', () => {
  const lines = examplesOf(readFileSync('docs/provider-tokens.md', 'utf8'));
  // `npm run test:clients` runs those that install packages.
  const here = lines.filter((example) => !example.lines.includes('npm install'));
  expect(here).toHaveLength(lines.length - 1);
  expectPromised([...tryIt, ...here.map((example) => ({ ...example, promised: undefined }))]);
});

test('the lines for operators work, revoke the key that signs, and leave the demo and the folder as they were', async () => {
  const lines = examplesOf(readFileSync('docs/operating.md', 'utf8'));
  const files = readdirSync(folder);
  const published = await fetch(`${running.demo.base_url}/v2/marketing/oauth/jwks`);
  const { keys } = JSON.parse(await published.text());
  const revoked = {
    lines: `echo '{"kid":"'$KID'"}'`,
    promised: JSON.stringify({ kid: keys[0].kid }),
  };
  expectPromised([
    ...tryIt,
    ...lines.map((example) => ({ ...example, promised: undefined })),
    revoked,
  ]);
  expect(readdirSync(folder)).toEqual(files);
  // Another instance has cached nothing of what the lines may have changed.
  const another = await startService({ JOIN: running.directory });
  try {
    useStack(another);
    expectPromised(tryIt);
  } finally {
    await another.stop();
  }
}, 600_000);

describe('the page about production', () => {
  const blocks = examplesOf(readFileSync('docs/production.md', 'utf8'));
  const here = blocks.filter(({ lines }) => !lines.startsWith('# needs AWS\n'));

  test('says of each block that calls AWS that it does', () => {
    const calls = /^(aws|git|npm ci|npx cdk (?!list))/m;
    expect(here.filter(({ lines }) => calls.test(lines))).toEqual([]);
    expect(here).not.toHaveLength(blocks.length);
  });

  test('has commands that work, with the stack on this machine in place of the deployed one', () => {
    const local = { lines: 'op() { npm run -s operator -- "$@" --local; }', promised: undefined };
    // In the project's own folder: the CDK takes no function from outside of it.
    expectPromised([local, ...here], process.cwd());
  }, 600_000);

  test('gives rights to the roles of the CDK and to what its other commands and those of maintenance call, and no more', () => {
    const { Statement } = JSON.parse(readFileSync('docs/policies/deployer.json', 'utf8'));
    expect(Statement.flatMap(({ Action }: { Action: string | string[] }) => Action)).toEqual([
      'sts:AssumeRole',
      'cloudformation:DescribeStacks',
      'cloudformation:ListStackResources',
      'lambda:GetAlias',
      'lambda:ListVersionsByFunction',
      'lambda:UpdateAlias',
      'codedeploy:ListDeployments',
      'codedeploy:StopDeployment',
      'cloudwatch:GetMetricData',
      'cloudformation:CancelUpdateStack',
      'cloudformation:ContinueUpdateRollback',
      'cloudformation:DescribeStackEvents',
      'cloudformation:UpdateTerminationProtection',
      'acm:RequestCertificate',
      'secretsmanager:GetSecretValue',
      'secretsmanager:PutSecretValue',
      'lambda:InvokeFunction',
    ]);
  });
});

function examplesOf(page: string): Example[] {
  const blocks = page.matchAll(/^```sh\n(.*?)^```$(?:(?:(?!```).)*?^```json\n(.*?)^```$)?/gms);
  return [...blocks].map(([, lines = '', promised]) => ({ lines, promised }));
}

/**
 * Pastes all lines into one shell. Every response must be a success, and the promised one where the
 * page shows it.
 */
function expectPromised(examples: Example[], cwd = folder): void {
  const mark = '=== next ===';
  const input = [
    // As `npm run operator` does it, but without half a second for npm itself.
    'npm() {',
    '  case "$*" in',
    '    "run -s operator -- "*) shift 4 && node infra/operator/main.ts "$@" ;;',
    '    *) command npm "$@" ;;',
    '  esac',
    '}',
    'curl() { command curl --fail-with-body "$@"; }',
    ...examples.map(({ lines }) => `${lines}\necho '${mark}'`),
  ].join('\n');
  const environment = {
    ...process.env,
    NODE_OPTIONS: '',
    CDK_OUTPUT: join(folder, 'cdk.out'),
    LOCAL_DIR: join(folder, '.local'),
  };
  const shell = { cwd, input, env: environment, encoding: 'utf8' } as const;
  const printed = execFileSync('bash', ['-e', '-o', 'pipefail'], shell).split(mark);
  for (const [index, { promised }] of examples.entries()) {
    if (promised !== undefined)
      expect(answersIn(printed[index] ?? '')).toEqual(answersIn(promised));
  }
}

/** Each JSON object in a text, on one line or on several, without what differs from run to run. */
function answersIn(text: string): unknown[] {
  const constant = text
    .replaceAll(/"(eyJ|rt\.|d_|i_|s_|lu_|20\d\d-)[^"]*"/g, '"…"')
    .replaceAll(/("access_request_id":|\{"id":(?=\d+,"created_at"))\d+/g, '$1 0');
  return constant
    .trim()
    .split(/\n(?=\{)/)
    .map((json) => JSON.parse(json));
}
