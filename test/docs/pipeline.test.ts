import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { execa } from 'execa';
import deployTrust from '../../docs/examples/pipeline/deploy-trust.json' with { type: 'json' };
import diffPolicy from '../../docs/examples/pipeline/diff-policy.json' with { type: 'json' };
import diffTrust from '../../docs/examples/pipeline/diff-trust.json' with { type: 'json' };
import { parseCommandLine } from '../../infra/operator/parse-command-line.ts';
import { settingNames } from '../../infra/settings/settings.ts';
import packageJson from '../../package.json' with { type: 'json' };

const workflow = readFileSync('docs/examples/pipeline/deploy.yml', 'utf8');
const page = readFileSync('docs/pipeline.md', 'utf8');
const commands = [...workflow.matchAll(/\brun: (.*)$/gm)].map(([, command = '']) => command);
/** The jobs of the workflow, by their names. */
const jobs = new Map(
  workflow
    .slice(workflow.indexOf('\njobs:\n'))
    .split(/^ {2}(?=\w+:$)/m)
    .slice(1)
    .map((job) => [job.slice(0, job.indexOf(':')), job]),
);
const job = (name: string): string => jobs.get(name) ?? '';
const numberIn = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]);

test('the workflow has the jobs that the page names', () => {
  expect([...jobs.keys()]).toEqual(['test', 'diff', 'development', 'production']);
  expect(job('production')).toMatch(/^ {4}needs: development$/m);
  expect(job('production')).toMatch(/^ {4}environment: production$/m);
});

test('code of a pull request gets no credentials but in the job that shows the changes', () => {
  expect(workflow.slice(0, workflow.indexOf('\njobs:\n'))).not.toContain('id-token');
  expect(job('test')).not.toContain('id-token');
  expect(job('diff')).toContain('role/github-diff');
  for (const name of ['development', 'production'])
    expect(job(name)).toMatch(/ {4}(if: github\.event_name == 'push'|needs: development)\n/);
});

test('each npm script that it runs exists', () => {
  const scripts = commands.flatMap((one) => one.match(/^npm run (?:-s )?(\S+)/)?.[1] ?? []);
  expect(scripts).toEqual(['operator', 'operator']);
  const known = Object.keys(packageJson.scripts);
  expect(scripts.filter((name) => !known.includes(name))).toEqual([]);
  const others = commands.filter((command) => !/^npm run|^npx cdk/.test(command));
  expect([...new Set(others)]).toEqual(['npm ci', 'npm test']);
});

test('each command of the operator is one', () => {
  const words = commands.flatMap((command) => command.match(/(?<=operator -- ).*/) ?? []);
  expect(words).toHaveLength(2);
  for (const line of words)
    expect(parseCommandLine(line.split(' '))).toMatchObject({ about: 'check' });
});

const ofCdk = [...new Set(commands.filter((command) => command.startsWith('npx cdk ')))];
test.each(ofCdk)('the CDK knows each option of %s', async (command) => {
  const [verb = '', ...words] = command.replace('npx cdk ', '').split(' ');
  const { stdout } = await execa('cdk', [verb, '--help'], { preferLocal: true });
  const options = words.filter((word) => word.startsWith('-'));
  expect(options.length).toBeGreaterThanOrEqual(2);
  expect(
    options.filter((option) => !new RegExp(`(^|[ ,])${option}[ ,]`, 'm').test(stdout)),
  ).toEqual([]);
  const settings = words.flatMap((word) => word.match(/^\w+(?==)/) ?? []);
  expect(settings.filter((name) => !settingNames.includes(name))).toEqual([]);
});

describe('the session of the deployer', () => {
  test('lasts as long as the job, and the role allows it', () => {
    const seconds = numberIn(job('production'), /role-duration-seconds: (\d+)/);
    expect(numberIn(job('production'), /timeout-minutes: (\d+)/) * 60).toBe(seconds);
    expect(numberIn(page, /--max-session-duration (\d+)/)).toBe(seconds);
    expect(seconds).toBeLessThanOrEqual(43_200);
    const ofDevelopment = numberIn(job('development'), /role-duration-seconds: (\d+)/);
    expect(numberIn(job('development'), /timeout-minutes: (\d+)/) * 60).toBe(ofDevelopment);
  });
});

describe('the roles', () => {
  const issuer = 'token.actions.githubusercontent.com';

  test.each([
    ['deployer', deployTrust, 'environment:production'],
    ['pull requests', diffTrust, 'pull_request'],
  ])('that of %s trusts one subject of one repository', (_, { Statement }, subject) => {
    expect(Statement).toEqual([
      {
        Sid: 'GitHub',
        Effect: 'Allow',
        Principal: { Federated: `arn:aws:iam::123456789012:oidc-provider/${issuer}` },
        Action: 'sts:AssumeRoleWithWebIdentity',
        Condition: {
          // Not StringLike: an asterisk would let other repositories or branches in.
          StringEquals: {
            [`${issuer}:aud`]: 'sts.amazonaws.com',
            [`${issuer}:sub`]: `repo:OWNER/REPOSITORY:${subject}`,
          },
        },
      },
    ]);
  });

  test('that of pull requests reads templates, and neither data nor secrets', () => {
    const [statement] = diffPolicy.Statement;
    expect(diffPolicy.Statement).toHaveLength(1);
    expect(statement?.Action).toEqual([
      'cloudformation:DescribeStacks',
      'cloudformation:GetTemplate',
      'cloudformation:ListStackResources',
    ]);
  });
});
