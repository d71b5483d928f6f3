import { Stack } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnRotationSchedule, type Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { TokenAlgorithm } from '../../lib/signing/token-algorithm.ts';
import { allow, allowKey } from './key-rights.ts';

interface SecretRotationProps {
  secret: Secret;
  rotation: IFunction;
  /** The schedule, as Secrets Manager writes it, such as `rate(30 days)`. */
  every: string;
  /** The time after midnight (UTC) at which a rotation may begin. */
  window: string;
}

/**
 * When the signing keys may rotate. It differs by algorithm, so that a change of the algorithm updates the schedule, and
 * Secrets Manager rotates at once.
 */
export const signingKeyWindows: Record<TokenAlgorithm, string> = { RS256: '4h', ES256: '3h' };

/**
 * Makes Secrets Manager rotate a secret regularly, at the first deployment, and when the schedule has changed. Not a
 * `RotationSchedule`, which would also give the function a permission on every resource.
 * @see AWS Secrets Manager user guide, "Lambda rotation function execution role permissions"
 */
export class SecretRotation extends Construct {
  constructor(scope: Construct, id: string, { secret, rotation, every, window }: SecretRotationProps) {
    super(scope, id);
    const actions = ['DescribeSecret', 'GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage'];
    const named = actions.map((action) => `secretsmanager:${action}`);
    allow(rotation, named, [secret.secretArn]);
    allowKey(rotation, secret.encryptionKey, 'write', 'secretsmanager');
    rotation.addPermission(id, {
      principal: new ServicePrincipal('secretsmanager.amazonaws.com'),
      sourceAccount: Stack.of(this).account,
      sourceArn: secret.secretArn,
    });
    const schedule = new CfnRotationSchedule(this, 'Schedule', {
      secretId: secret.secretArn,
      rotationLambdaArn: rotation.functionArn,
      rotationRules: { scheduleExpression: every, duration: window },
      rotateImmediatelyOnUpdate: true,
    });
    // CloudFormation rejects the schedule until Secrets Manager may invoke the function, which must know the new settings.
    schedule.node.addDependency(rotation);
  }
}
