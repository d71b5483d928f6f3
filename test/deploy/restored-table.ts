import assert from 'node:assert/strict';
import { delimiter } from 'node:path';
import { execa } from 'execa';
import { codeBlocks } from '../support/code-blocks.ts';
import { type Cloud, cloudEnvironment } from './deployed-stack.ts';

/**
 * Restores a stack's table by the commands of `docs/maintenance.md`. MiniStack ignores the time,
 * and restores what is there now.
 * @param commands the folder that has the AWS CLI
 * @returns the settings of a deployment with it
 */
export async function restoreTable(cloud: Cloud, stack: string, commands: string) {
  const blocks = codeBlocks('maintenance.md', 'sh', 'Restore the table');
  const deployment = blocks.findIndex((lines) => lines.includes('npx cdk deploy'));
  const options = '-c tableName="$RESTORED" -c tableStreamArn="$STREAM" -c change=tableName';
  assert.ok(
    blocks[deployment]?.includes(options),
    'docs/maintenance.md deploys with other settings.',
  );
  const lines = blocks
    .slice(0, deployment)
    .join('')
    .replace(/^STACK=.*$/m, `STACK=${stack}`)
    .replace(/(--restore-date-time) \S+/, `$1 ${new Date().toISOString()}`);
  const { PATH, ...environment } = { PATH: process.env.PATH, ...cloudEnvironment(cloud) };
  const shell = {
    cwd: cloud.workDirectory,
    env: { ...environment, PATH: [commands, PATH].join(delimiter) },
    input: `${lines}\necho "$RESTORED $STREAM"`,
  };
  const { stdout } = await execa('bash', ['-eu', '-o', 'pipefail'], shell);
  const [tableName = '', tableStreamArn = ''] =
    stdout.trimEnd().split('\n').at(-1)?.split(' ') ?? [];
  assert.match(tableStreamArn, new RegExp(`:table/${tableName}/stream/`));
  return { tableName, tableStreamArn };
}
