import { CustomResource, Duration } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { allow } from './key-rights.ts';
import type { SecretRotation } from './secret-rotation.ts';

interface FirstRotationProps {
  signingKeys: Secret;
  /** The function that rotates the secrets. */
  rotation: SecretRotation;
  /** `functions/await-signing-keys.ts` */
  awaiting: IFunction;
}

/** Lets a deployment end only when the first rotation has created the keys, so that the first token can be signed. */
export class FirstRotation extends Construct {
  constructor(scope: Construct, id: string, { signingKeys, rotation, awaiting }: FirstRotationProps) {
    super(scope, id);
    allow(awaiting, ['secretsmanager:DescribeSecret'], [signingKeys.secretArn]);
    const rotated = new CustomResource(this, 'Wait', {
      resourceType: 'Custom::FirstRotation',
      serviceToken: awaiting.functionArn,
      // Should the function end without a response, CloudFormation would wait for an hour.
      serviceTimeout: Duration.minutes(6),
      properties: { SecretId: signingKeys.secretArn },
    });
    rotated.node.addDependency(rotation);
  }
}
