import { Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnRotationSchedule, type Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';

/**
 * Has Secrets Manager rotate the signing keys every 30 days, and once when it is deployed first: that makes
 * the first keys. Not a `RotationSchedule`, which would also give the function a right on every resource.
 * @see AWS Secrets Manager user guide, "Lambda rotation function execution role permissions"
 */
export class SigningKeyRotation extends Construct {
  constructor(scope: Construct, id: string, signingKeys: Secret, rotation: IFunction) {
    super(scope, id);
    rotation.addToRolePolicy(
      new PolicyStatement({
        actions: [
          'secretsmanager:DescribeSecret',
          'secretsmanager:GetSecretValue',
          'secretsmanager:PutSecretValue',
          'secretsmanager:UpdateSecretVersionStage',
        ],
        resources: [signingKeys.secretArn],
      }),
    );
    rotation.addPermission('Rotation', {
      principal: new ServicePrincipal('secretsmanager.amazonaws.com'),
      sourceAccount: Stack.of(this).account,
      sourceArn: signingKeys.secretArn,
    });
    const schedule = new CfnRotationSchedule(this, 'Schedule', {
      secretId: signingKeys.secretArn,
      rotationLambdaArn: rotation.functionArn,
      rotationRules: { scheduleExpression: 'rate(30 days)' },
      rotateImmediatelyOnUpdate: true,
    });
    // The schedule is refused while Secrets Manager may not invoke the function.
    schedule.node.addDependency(rotation);
  }
}
