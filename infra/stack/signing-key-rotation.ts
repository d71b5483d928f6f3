import { CustomResource, Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnRotationSchedule, type Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { TokenAlgorithm } from '../../lib/tokens/token-algorithm.ts';

interface SigningKeyRotationProps {
  signingKeys: Secret;
  rotation: IFunction;
  /** `functions/await-signing-keys.ts` */
  awaiting: IFunction;
  tokenAlgorithm: TokenAlgorithm;
}

/**
 * How long after midnight (UTC) a rotation may begin. It differs by algorithm, so that a change of the algorithm updates
 * the schedule, and Secrets Manager rotates at once.
 */
const windows: Record<TokenAlgorithm, string> = { RS256: '4h', ES256: '3h' };

/**
 * Makes Secrets Manager rotate the signing keys every 30 days, at the first deployment, which creates the first keys and
 * ends after that, and when the algorithm has changed. Not a `RotationSchedule`, which would also give the function a permission on every
 * resource.
 * @see AWS Secrets Manager user guide, "Lambda rotation function execution role permissions"
 */
export class SigningKeyRotation extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { signingKeys, rotation, awaiting, tokenAlgorithm }: SigningKeyRotationProps,
  ) {
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
      rotationRules: { scheduleExpression: 'rate(30 days)', duration: windows[tokenAlgorithm] },
      rotateImmediatelyOnUpdate: true,
    });
    // CloudFormation rejects the schedule until Secrets Manager may invoke the function, which must know the new algorithm.
    schedule.node.addDependency(rotation);

    awaiting.addToRolePolicy(
      new PolicyStatement({
        actions: ['secretsmanager:DescribeSecret'],
        resources: [signingKeys.secretArn],
      }),
    );
    const rotated = new CustomResource(this, 'FirstRotation', {
      resourceType: 'Custom::FirstRotation',
      serviceToken: awaiting.functionArn,
      // Should the function end without a response, CloudFormation would wait for an hour.
      serviceTimeout: Duration.minutes(6),
      properties: { SecretId: signingKeys.secretArn },
    });
    rotated.node.addDependency(schedule);
  }
}
