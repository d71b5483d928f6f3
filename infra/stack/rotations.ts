import { CustomResource, Duration, Stack } from 'aws-cdk-lib';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { CfnRotationSchedule, type Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { TokenAlgorithm } from '../../lib/signing/settings.ts';
import { allow, allowKey } from './rights.ts';

/**
 * Windows for rotations of the signing keys. Another algorithm has another, which makes Secrets
 * Manager rotate at once.
 */
export const signingKeyWindows: Record<TokenAlgorithm, string> = { RS256: '4h', ES256: '3h' };

/**
 * Makes Secrets Manager rotate a secret regularly, at the first deployment, and when the schedule
 * has changed. A `RotationSchedule` would also give the function a permission on every resource.
 * @param when the schedule, and how long after midnight (UTC) a rotation may begin
 * @see AWS Secrets Manager user guide, "Lambda rotation function execution role permissions"
 */
export function rotate(
  service: Construct,
  id: string,
  secret: Secret,
  rotation: IFunction,
  when: { scheduleExpression: string; duration: string },
): Construct {
  const scope = new Construct(service, id);
  const actions = [
    'DescribeSecret',
    'GetSecretValue',
    'PutSecretValue',
    'UpdateSecretVersionStage',
  ];
  const named = actions.map((action) => `secretsmanager:${action}`);
  allow(rotation, named, [secret.secretArn]);
  allowKey(rotation, secret.encryptionKey, 'write', 'secretsmanager');
  rotation.addPermission(id, {
    principal: new ServicePrincipal('secretsmanager.amazonaws.com'),
    sourceAccount: Stack.of(scope).account,
    sourceArn: secret.secretArn,
  });
  const schedule = new CfnRotationSchedule(scope, 'Schedule', {
    secretId: secret.secretArn,
    rotationLambdaArn: rotation.functionArn,
    rotationRules: when,
    rotateImmediatelyOnUpdate: true,
  });
  // Secrets Manager must be allowed to invoke the function, which must know the new settings.
  schedule.node.addDependency(rotation);
  return scope;
}

/**
 * Lets a deployment end only when the first rotation has created the keys.
 * @param awaiting `functions/await-signing-keys.ts`
 */
export function awaitFirstRotation(
  service: Construct,
  { secretArn: SecretId }: Secret,
  rotation: Construct,
  awaiting: IFunction,
) {
  allow(awaiting, ['secretsmanager:DescribeSecret'], [SecretId]);
  const rotated = new CustomResource(new Construct(service, 'FirstRotation'), 'Wait', {
    resourceType: 'Custom::FirstRotation',
    serviceToken: awaiting.functionArn,
    // Without it, CloudFormation waits for an hour when the function ends without a response.
    serviceTimeout: Duration.minutes(6),
    properties: { SecretId },
  });
  rotated.node.addDependency(rotation);
}
