import { Stack } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { arnOf } from './service-function.ts';

/**
 * Lets CloudWatch Logs use a key that the app makes, for the log groups of the stack's account and
 * region. The policy of an imported key stays as it is. The CDK itself lets the senders of an
 * encrypted topic use its key.
 */
export function allowLogs(scope: Construct, key: IKey): void {
  const arn = arnOf(scope, 'logs', 'log-group', '*');
  key.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal(`logs.${Stack.of(scope).region}.amazonaws.com`)],
      actions: [
        'kms:Decrypt',
        'kms:DescribeKey',
        'kms:Encrypt',
        'kms:GenerateDataKey*',
        'kms:ReEncrypt*',
      ],
      resources: ['*'],
      conditions: { ArnLike: { 'kms:EncryptionContext:aws:logs:arn': arn } },
    }),
  );
}
