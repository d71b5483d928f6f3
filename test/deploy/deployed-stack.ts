import { join } from 'node:path';
import {
  CloudFormationClient,
  DescribeStackResourcesCommand,
  DescribeStacksCommand,
} from '@aws-sdk/client-cloudformation';
import { execa } from 'execa';
import { rotateSecret } from '../../infra/local/stack.ts';
import { type AwsEndpoint, localAws } from '../../infra/operator/call/invoke-function.ts';
import { account, region } from './ministack.ts';

/** What stands in for AWS, and how commands find it. */
export interface Cloud {
  endpoint: string;
  /** For the CDK's own files. */
  workDirectory: string;
}

/**
 * The environment for a command that is to find AWS at the endpoint, and no real account by any
 * setting.
 */
export const cloudEnvironment = ({
  endpoint,
  workDirectory,
}: Cloud): Record<string, string | undefined> => ({
  ...Object.fromEntries(namesOfAws().map((name) => [name, undefined])),
  AWS_ENDPOINT_URL: endpoint,
  AWS_REGION: region,
  // The AWS CLI's first version knows it by this name.
  AWS_DEFAULT_REGION: region,
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_EC2_METADATA_DISABLED: 'true',
  CDK_HOME: workDirectory,
  CDK_DISABLE_CLI_TELEMETRY: 'true',
});

const namesOfAws = (): string[] =>
  Object.keys(process.env).filter((name) => name.startsWith('AWS_'));

const cdk = (
  cloud: Cloud,
  words: string[],
  { cwd = '.', env = {} as Record<string, string> } = {},
) =>
  execa('cdk', [...words, '--no-color'], {
    cwd,
    env: { ...cloudEnvironment(cloud), ...env },
    stdout: ['pipe', { file: join(cloud.workDirectory, 'cdk.log'), append: true }],
  });

export const bootstrap = (cloud: Cloud) => cdk(cloud, ['bootstrap', `aws://${account}/${region}`]);

/**
 * Deploys the stack of `app.ts`. `direct`, since MiniStack may lose a change set when it updates.
 * @param code the folder of the project to deploy
 * @returns what the app says of itself
 */
export async function deploy(
  cloud: Cloud,
  settings: Record<string, string>,
  issuer: string,
  code: string,
): Promise<string[]> {
  const context = Object.entries(settings).flatMap(([name, value]) => [
    '--context',
    `${name}=${value}`,
  ]);
  const app = [
    '--app',
    'node test/deploy/app.ts',
    '--output',
    join(cloud.workDirectory, 'cdk.out'),
  ];
  const options = ['--require-approval', 'never', '--method', 'direct'];
  const words = ['deploy', ...app, ...context, ...options];
  const { stderr } = await cdk(cloud, words, { cwd: code, env: { FRONT_URL: issuer } });
  return stderr.match(/^MiniStack .*$/gm) ?? [];
}

export const destroy = (cloud: Cloud) =>
  cdk(cloud, ['destroy', '--app', join(cloud.workDirectory, 'cdk.out'), '--force']);

const cloudFormation = ({ endpoint }: Cloud): CloudFormationClient =>
  new CloudFormationClient(localAws({ url: endpoint, secret_access_key: 'test' }));

/** Finds the physical ids of a stack's resources by their logical ids. */
export async function physicalIdsOf(
  cloud: Cloud,
  StackName: string,
): Promise<(logicalId: string) => string> {
  const { StackResources = [] } = await cloudFormation(cloud).send(
    new DescribeStackResourcesCommand({ StackName }),
  );
  return (logicalId) => {
    const found = StackResources.find(({ LogicalResourceId }) => LogicalResourceId === logicalId);
    if (!found?.PhysicalResourceId) throw new Error(`The stack has no ${logicalId}.`);
    return found.PhysicalResourceId;
  };
}

/** Rotates the secrets of a stack by its functions, as Secrets Manager does after its creation. */
export async function rotateSecrets(
  endpoint: AwsEndpoint,
  physicalId: (logicalId: string) => string,
): Promise<void> {
  for (const [rotation, secret] of [
    ['RotateSigningKeys', 'SecretsSigningKeys20695C0E'],
    ['RotateServiceSecrets', 'SecretsRefreshTokens4B65249A'],
    ['RotateServiceSecrets', 'SecretsProviderSettings4E6314D7'],
  ] as const)
    await rotateSecret(endpoint, physicalId(rotation), physicalId(secret));
}

/** The state of a stack, `DELETE_COMPLETE` also when it is not known any more. */
export async function stateOf(cloud: Cloud, StackName: string): Promise<string> {
  try {
    const { Stacks: [stack] = [] } = await cloudFormation(cloud).send(
      new DescribeStacksCommand({ StackName }),
    );
    return stack?.StackStatus ?? 'DELETE_COMPLETE';
  } catch (error) {
    if (error instanceof Error && /does not exist/.test(error.message)) return 'DELETE_COMPLETE';
    throw error;
  }
}
