import { RemovalPolicy } from 'aws-cdk-lib';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { SecretName } from '../../lib/http/endpoint.ts';
import type { Settings } from '../settings/settings.ts';

const { DESTROY, RETAIN_ON_UPDATE_OR_DELETE } = RemovalPolicy;

/**
 * The secrets of the service; in production they outlive the stack. Never change how a value is generated: the next
 * update would generate a new one, and every token and every provider secret in the table would be lost.
 */
export class ServiceSecrets extends Construct {
  readonly named: Record<SecretName, Secret>;

  constructor(scope: Construct, id: string, settings: Settings, encryptionKey?: IKey) {
    super(scope, id);
    // The region that takes over from another has the same settings, and cannot have a copy of its own secrets.
    const regions = settings.replicaRegions?.split(',').filter((region) => region !== settings.region) ?? [];
    const kept = {
      ...(encryptionKey && { encryptionKey }),
      // A first deployment that fails deletes them again: nothing depends on them yet.
      // @see AWS CloudFormation template reference, "DeletionPolicy attribute": RetainExceptOnCreate
      removalPolicy: settings.removalPolicy === 'retain' ? RETAIN_ON_UPDATE_OR_DELETE : DESTROY,
      // @see AWS Secrets Manager user guide, "Replicate AWS Secrets Manager secrets across Regions"
      ...(regions.length > 0 && { replicaRegions: regions.map((region) => ({ region })) }),
    };
    const random = { generateSecretString: { passwordLength: 64, excludePunctuation: true } };
    this.named = {
      /** The secret of the signing keys. It holds a random text until the first rotation, at deployment, creates the keys. */
      'signing-keys': new Secret(this, 'SigningKeys', {
        description: 'The keys that sign access tokens; written by their rotation alone',
        ...kept,
      }),
      /** Secrets that hold a random text at first, too. Rotations then write key sets that begin with that text. */
      'refresh-tokens': new Secret(this, 'RefreshTokens', {
        description: 'What the key of refresh tokens is derived from',
        ...random,
        ...kept,
      }),
      'provider-settings': new Secret(this, 'ProviderSettings', {
        description: 'What the key that encrypts provider settings is derived from',
        ...random,
        ...kept,
      }),
    };
  }
}
