import { Stack } from 'aws-cdk-lib';
import { type IGrantable, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';

const reading = ['kms:Decrypt', 'kms:DescribeKey'];
const writing = [...reading, 'kms:Encrypt', 'kms:GenerateDataKey', 'kms:ReEncryptFrom', 'kms:ReEncryptTo'];

/** Lets a role do something with resources. */
export function allow({ grantPrincipal }: IGrantable, actions: string[], resources: string[]): void {
  grantPrincipal.addToPrincipalPolicy(new PolicyStatement({ actions, resources }));
}

/**
 * Lets a role have a service read, or read and write, what the deployment's own key encrypts. The role itself can neither
 * decrypt nor encrypt anything with it. Without such a key, AWS's own need no right.
 * @param service DynamoDB, Secrets Manager or SQS, as in its host name
 * @see AWS KMS developer guide, "kms:ViaService"
 */
export function allowKey(
  { grantPrincipal }: IGrantable,
  key: IKey | undefined,
  may: 'read' | 'write',
  service: 'dynamodb' | 'secretsmanager' | 'sqs',
): void {
  if (!key) return;
  const { region, urlSuffix } = Stack.of(key);
  grantPrincipal.addToPrincipalPolicy(
    new PolicyStatement({
      actions: may === 'read' ? reading : writing,
      resources: [key.keyArn],
      conditions: { StringEquals: { 'kms:ViaService': `${service}.${region}.${urlSuffix}` } },
    }),
  );
}
