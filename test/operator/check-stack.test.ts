import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { serve } from '../../infra/local/loopback-server.ts';
import { lookAtStack } from '../../infra/operator/check/check-stack.ts';

const folder = mkdtempSync(join(tmpdir(), 'deployments-'));
writeFileSync(join(folder, 'live.json'), JSON.stringify({ stage: 'production' }));

const asDeployed = { deployment: 'live', stage: 'production', domainName: 'none', tableName: 'own' };
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
      .map((pin) => `<member><${key}>${pin.name}${suffix}</${key}><${value}>${pin.value}</${value}></member>`)
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
    ['The stack was deployed with domainName login.example.com, but deployments/live.json says none.'],
  ],
  [
    'without pins',
    { ...withProtection, kept: {} },
    ["The stack doesn't keep deployment, stage, domainName, tableName: deploy it once more, without change."],
  ],
])('the check of a deployed stack %s', async (_, stack, problems) => {
  expect(await whatIsSaidOf(stack)).toEqual({ version: '1.0.0', problems });
});
