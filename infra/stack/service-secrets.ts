import { type RemovalPolicy, Validations } from 'aws-cdk-lib';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { SecretName } from '../../lib/http/endpoint.ts';

/**
 * The secrets of the service; in production they outlive the stack. Never change how a value is generated: the next
 * update would generate a new one, and every token and every provider secret in the table would be lost.
 */
export class ServiceSecrets extends Construct {
  readonly named: Record<SecretName, Secret>;

  constructor(scope: Construct, id: string, removalPolicy: RemovalPolicy) {
    super(scope, id);
    this.named = {
      /** At first a random text; the first rotation, at deployment, creates the keys. */
      'signing-keys': new Secret(this, 'SigningKeys', {
        description: 'The keys that sign access tokens; written by their rotation alone',
        removalPolicy,
      }),
      'service-secret': new Secret(this, 'ServiceSecret', {
        description: 'What refresh tokens and the encryption of provider secrets are derived from',
        generateSecretString: { passwordLength: 64, excludePunctuation: true },
        removalPolicy,
      }),
    };
    Validations.of(this.named['service-secret']).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason: 'The provider secrets in the table are encrypted with it and would be lost with a new value',
    });
  }
}
