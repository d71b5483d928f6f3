import {
  type ISecurityGroup,
  type IVpc,
  SecurityGroup,
  type SubnetSelection,
} from 'aws-cdk-lib/aws-ec2';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { PropError } from './prop-error.ts';
import { acknowledge, type FunctionRole, type InlineRole } from './rights.ts';

/** The network of the functions that call providers or the login hook. */
export interface NetworkProps {
  /**
   * A VPC for them, with a way to the internet. The other functions are in none.
   * @default none
   */
  vpc?: IVpc | undefined;
  /**
   * The subnets of `vpc`, which must be private.
   * @default the private ones
   */
  vpcSubnets?: SubnetSelection | undefined;
  /**
   * The security groups of the functions in `vpc`.
   * @default one that lets everything out and nothing in
   */
  securityGroups?: ISecurityGroup[] | undefined;
}

/** The network of the functions that call out. */
export interface Network {
  vpc: IVpc;
  vpcSubnets: SubnetSelection | undefined;
  securityGroups: ISecurityGroup[];
}

/**
 * The network that the props name; undefined for none.
 * @throws PropError naming the prop that is wrong
 */
export function networkOf(
  service: Construct,
  { vpc, vpcSubnets, securityGroups }: NetworkProps,
): Network | undefined {
  const [alone] = Object.entries({ vpcSubnets, securityGroups }).find(([, given]) => given) ?? [];
  if (!vpc && alone) throw new PropError(service, alone, 'must come with vpc');
  if (!vpc) return undefined;
  if (vpc.selectSubnets(vpcSubnets).hasPublic)
    throw new PropError(
      service,
      vpcSubnets ? 'vpcSubnets' : 'vpc',
      'must have private subnets: in a public one, a function reaches nothing',
    );
  if (securityGroups?.length === 0)
    throw new PropError(service, 'securityGroups', 'must be absent or have at least one');
  // One for all functions: Lambda then shares the network interfaces among them.
  const own = () =>
    new SecurityGroup(service, 'Outbound', {
      vpc,
      description: 'The functions of the login service that call out',
    });
  return { vpc, vpcSubnets, securityGroups: securityGroups ?? [own()] };
}

const interfaceActions = [
  'AssignPrivateIpAddresses',
  'CreateNetworkInterface',
  'DeleteNetworkInterface',
  'DescribeNetworkInterfaces',
  'DescribeSubnets',
  'UnassignPrivateIpAddresses',
].map((action) => `ec2:${action}`);

/**
 * Lets Lambda connect a function to its VPC, but not the function's own code.
 * @see AWS Lambda developer guide, "Giving Lambda functions access to resources in an Amazon VPC":
 *   required IAM permissions, and "Working with Lambda execution environment credentials":
 *   lambda:SourceFunctionArn
 */
export function allowNetwork(scope: Construct, role: FunctionRole | InlineRole): void {
  role.addNew(
    new PolicyStatement({
      actions: interfaceActions,
      resources: ['*'],
      conditions: { Null: { 'lambda:SourceFunctionArn': 'true' } },
    }),
  );
  acknowledge(scope, 'IAM5[Resource::*]', 'Nobody knows the network interfaces beforehand');
}
