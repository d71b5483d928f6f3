import { join } from 'node:path';
import {
  CloudFormationClient,
  DescribeStackResourcesCommand,
  DescribeStacksCommand,
} from '@aws-sdk/client-cloudformation';
import { runLogged } from '../support/commands.ts';
import { account, region } from './ministack.ts';

/** What stands in for AWS, and how commands find it. */
export interface Cloud {
  endpoint: string;
  /** For the CDK's own files. */
  workDirectory: string;
}

/** The environment for a command that is to find AWS at the endpoint, and no real account by any setting. */
export const cloudEnvironment = ({ endpoint, workDirectory }: Cloud): Record<string, string | undefined> => ({
  ...Object.fromEntries(namesOfAws().map((name) => [name, undefined])),
  AWS_ENDPOINT_URL: endpoint,
  AWS_REGION: region,
  AWS_ACCESS_KEY_ID: 'test',
  AWS_SECRET_ACCESS_KEY: 'test',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_EC2_METADATA_DISABLED: 'true',
  CDK_HOME: workDirectory,
  CDK_DISABLE_CLI_TELEMETRY: 'true',
});

const namesOfAws = (): string[] => Object.keys(process.env).filter((name) => name.startsWith('AWS_'));

const cdk = (cloud: Cloud, ...words: string[]): Promise<void> =>
  runLogged(['cdk', ...words, '--no-color'], {
    environment: cloudEnvironment(cloud),
    logFile: join(cloud.workDirectory, 'cdk.log'),
  });

export const bootstrap = (cloud: Cloud): Promise<void> =>
  cdk(cloud, 'bootstrap', `aws://${account}/${region}`);

/** Deploys a synthesized stack. `direct`: MiniStack may lose a change set by its name when it updates. */
export const deploy = (cloud: Cloud, assembly: string): Promise<void> =>
  cdk(cloud, 'deploy', '--app', assembly, '--require-approval', 'never', '--method', 'direct');

export const destroy = (cloud: Cloud, assembly: string): Promise<void> =>
  cdk(cloud, 'destroy', '--app', assembly, '--force');

const cloudFormation = ({ endpoint }: Cloud): CloudFormationClient =>
  new CloudFormationClient({
    endpoint,
    region,
    credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
  });

/** What a stack consists of. */
export interface StackResources {
  /** The physical id of a resource, by its logical id. */
  named(logicalId: string): string;
  /** The physical id of the only resource of a type. */
  only(type: string): string;
}

export async function resourcesOf(cloud: Cloud, StackName: string): Promise<StackResources> {
  const { StackResources = [] } = await cloudFormation(cloud).send(
    new DescribeStackResourcesCommand({ StackName }),
  );
  const one = (what: string, found: typeof StackResources): string => {
    const [{ PhysicalResourceId } = {}, ...more] = found;
    if (!PhysicalResourceId || more.length > 0) throw new Error(`The stack has not exactly one ${what}.`);
    return PhysicalResourceId;
  };
  return {
    named: (id) =>
      one(
        id,
        StackResources.filter(({ LogicalResourceId }) => LogicalResourceId === id),
      ),
    only: (type) =>
      one(
        type,
        StackResources.filter(({ ResourceType }) => ResourceType === type),
      ),
  };
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
