import { Aws, Validations } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { logicalIdOf, type ServiceFunction } from './service-function.ts';

/**
 * Lets a function call the new versions of those that serve requests, and tell CodeDeploy about each.
 * @param application the CodeDeploy application
 * @returns the function that CodeDeploy invokes before one of them goes live
 */
export function newVersionCheck(
  check: ServiceFunction,
  served: readonly ServiceFunction[],
  application: string,
): IFunction {
  const groupsArn = (partition: string, region: string, account: string): string =>
    `arn:${partition}:codedeploy:${region}:${account}:deploymentgroup:${application}/*`;
  // One variable, and no ARNs: the environment of a function takes 4 KB.
  check.lambda.addEnvironment(
    'NEW_VERSIONS',
    served
      .map(({ key, lambda }) => `${key}=${lambda.functionName}:${lambda.currentVersion.version}`)
      .join(' '),
  );
  check.lambda.addToRolePolicy(
    new PolicyStatement({
      actions: ['lambda:InvokeFunction'],
      // Not of one version alone: a new permission may take effect after CodeDeploy's call.
      resources: served.map(({ lambda }) => `${lambda.functionArn}:*`),
    }),
  );
  check.lambda.addToRolePolicy(
    new PolicyStatement({
      actions: ['codedeploy:PutLifecycleEventHookExecutionStatus'],
      resources: [groupsArn(Aws.PARTITION, Aws.REGION, Aws.ACCOUNT_ID)],
    }),
  );
  Validations.of(check).acknowledge({
    id: `AwsSolutions-IAM5[Resource::${groupsArn('<AWS::Partition>', '<AWS::Region>', '<AWS::AccountId>')}]`,
    reason:
      'The application has no other groups, and with one by one the role would near the most that IAM takes',
  });
  for (const { key } of served) {
    Validations.of(check).acknowledge({
      id: `AwsSolutions-IAM5[Resource::<${logicalIdOf(key)}.Arn>:*]`,
      reason: 'Each deployment makes a version, which it must call before it can be sure of a new permission',
    });
  }
  return check.lambda;
}
