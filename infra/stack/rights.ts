import { createHash } from 'node:crypto';
import { Lazy, Stack, Validations } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct, IConstruct } from 'constructs';

/** A service's role that holds its rights itself. A policy beside it would be one more of the 500 resources of a stack. */
export class InlineRole extends iam.Role {
  readonly #rights: iam.PolicyDocument;

  /** @param service such as `lambda.amazonaws.com`, which assumes the role */
  constructor(scope: Construct, id: string, service: string, managedPolicies: iam.IManagedPolicy[] = []) {
    const rights = new iam.PolicyDocument();
    // Not the name of the policy that earlier versions had beside the role: its deletion would take this one along.
    const inlinePolicies = { Rights: rights };
    super(scope, id, { assumedBy: new iam.ServicePrincipal(service), managedPolicies, inlinePolicies });
    this.#rights = rights;
  }

  override addToPrincipalPolicy(statement: iam.PolicyStatement): iam.AddToPrincipalPolicyResult {
    this.#rights.addStatements(statement);
    return { statementAdded: true, policyDependable: this };
  }
}

/**
 * The role of a function, with its rights in a policy whose logical id and name end in a hash of them. An update that changes
 * the rights creates another policy before the function changes, and deletes the old one when everything is live; a rollback
 * deletes the new one last. So every version has its rights for as long as it may be called. Version 1.0.0 had the rights in the
 * roles, where they stay for one release.
 * @see AWS CloudFormation user guide, "Understand update behaviors of stack resources": Replacement
 */
export class FunctionRole extends InlineRole {
  readonly #rights = new iam.PolicyDocument();

  constructor(scope: Construct, id: string) {
    super(scope, id, 'lambda.amazonaws.com');
    const stack = Stack.of(this);
    const hash = (): string => {
      const rights = JSON.stringify(stack.resolve(this.#rights));
      return createHash('sha256').update(rights).digest('hex').slice(0, 16);
    };
    const policy = new iam.CfnPolicy(this, 'Rights', {
      // Two policies of the same name on one role would be the same one, and the deletion of the old one would delete both.
      policyName: Lazy.string({ produce: () => `Rights-${hash()}` }),
      policyDocument: this.#rights,
      roles: [this.roleName],
    });
    const logicalId: unknown = stack.resolve(policy.logicalId);
    policy.overrideLogicalId(Lazy.uncachedString({ produce: () => `${logicalId}${hash()}` }));
  }

  override addToPrincipalPolicy(statement: iam.PolicyStatement): iam.AddToPrincipalPolicyResult {
    this.#rights.addStatements(statement);
    return super.addToPrincipalPolicy(statement);
  }

  /** Leaves the role a right that the function of 1.0.0 had and that of today doesn't need. */
  keepFormer(statement: iam.PolicyStatement): void {
    super.addToPrincipalPolicy(statement);
  }
}

/** Lets a role do something with resources. @param conditions as a policy has them */
export function allow(
  { grantPrincipal }: iam.IGrantable,
  actions: string[],
  resources: string[],
  conditions: Record<string, object> = {},
): void {
  grantPrincipal.addToPrincipalPolicy(new iam.PolicyStatement({ actions, resources, conditions }));
}

const reading = ['kms:Decrypt', 'kms:DescribeKey'];
const writing = [...reading, 'kms:Encrypt', 'kms:GenerateDataKey', 'kms:ReEncryptFrom', 'kms:ReEncryptTo'];

/**
 * Lets a role have a service read, or read and write, what the deployment's own key encrypts. The role itself can neither
 * decrypt nor encrypt anything with it. Without such a key, AWS's own need no right.
 * @see AWS KMS developer guide, "kms:ViaService"
 */
export function allowKey(
  role: iam.IGrantable,
  key: IKey | undefined,
  may: 'read' | 'write',
  service: 'dynamodb' | 'secretsmanager' | 'sqs',
): void {
  if (!key) return;
  const { region, urlSuffix } = Stack.of(key);
  const via = { StringEquals: { 'kms:ViaService': `${service}.${region}.${urlSuffix}` } };
  allow(role, may === 'read' ? reading : writing, [key.keyArn], via);
}

/** Says why what a rule of AwsSolutions finds is no fault. @param rule `SQS3`, with what it is about as cdk-nag writes it */
export const acknowledge = (scope: IConstruct, rule: string, reason: string): void =>
  Validations.of(scope).acknowledge({ id: `AwsSolutions-${rule}`, reason });
