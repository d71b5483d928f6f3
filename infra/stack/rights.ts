import { hash } from 'node:crypto';
import { Lazy, Stack, Validations } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct, IConstruct } from 'constructs';

/**
 * A role that holds its rights itself. A policy beside it would be one more of the 500 resources of
 * a stack.
 */
export class InlineRole extends iam.Role {
  readonly #rights: iam.PolicyDocument;

  constructor(
    scope: Construct,
    id: string,
    service: string,
    managedPolicies: iam.IManagedPolicy[] = [],
  ) {
    const rights = new iam.PolicyDocument();
    // Not the name of the policy that 1.0.0 had beside the role: its deletion would delete this
    // one, too.
    const inlinePolicies = { Rights: rights };
    super(scope, id, {
      assumedBy: new iam.ServicePrincipal(service),
      managedPolicies,
      inlinePolicies,
    });
    this.#rights = rights;
  }

  override addToPrincipalPolicy(statement: iam.PolicyStatement): iam.AddToPrincipalPolicyResult {
    this.#rights.addStatements(statement);
    return { statementAdded: true, policyDependable: this };
  }
}

/**
 * The role of a function, with its rights in a policy whose logical id and name end in a hash of
 * them. If they change, an update creates another policy before the function changes, and deletes
 * the old one when everything is live; a rollback deletes the new one last. So every version has
 * its rights while it may be called. Roles keep the rights of 1.0.0 for one release.
 * @see AWS CloudFormation user guide, "Understand update behaviors of stack resources": Replacement
 */
export class FunctionRole extends InlineRole {
  readonly #rights = new iam.PolicyDocument();

  constructor(scope: Construct, id: string) {
    super(scope, id, 'lambda.amazonaws.com');
    const stack = Stack.of(this);
    const rightsHash = (): string =>
      hash('sha256', JSON.stringify(stack.resolve(this.#rights))).slice(0, 16);
    const policy = new iam.CfnPolicy(this, 'Rights', {
      // Policies of the same name on one role are one: the deletion of the old one would delete
      // both.
      policyName: Lazy.string({ produce: () => `Rights-${rightsHash()}` }),
      policyDocument: this.#rights,
      roles: [this.roleName],
    });
    const logicalId: unknown = stack.resolve(policy.logicalId);
    policy.overrideLogicalId(Lazy.uncachedString({ produce: () => `${logicalId}${rightsHash()}` }));
  }

  override addToPrincipalPolicy(statement: iam.PolicyStatement): iam.AddToPrincipalPolicyResult {
    this.#rights.addStatements(statement);
    return super.addToPrincipalPolicy(statement);
  }

  /** Leaves the role a right that only the function of 1.0.0 needs. */
  keepFormer(statement: iam.PolicyStatement): void {
    super.addToPrincipalPolicy(statement);
  }
}

/** Lets a role do something with resources. */
export function allow(
  { grantPrincipal }: iam.IGrantable,
  actions: string[],
  resources: string[],
): void {
  grantPrincipal.addToPrincipalPolicy(new iam.PolicyStatement({ actions, resources }));
}

const reading = ['kms:Decrypt', 'kms:DescribeKey'];
const writing = [
  ...reading,
  'kms:Encrypt',
  'kms:GenerateDataKey',
  'kms:ReEncryptFrom',
  'kms:ReEncryptTo',
];

/**
 * Lets a service, for a role that can't use the deployment's own key itself, read or write what it
 * encrypts (kms:ViaService).
 */
export function allowKey(
  { grantPrincipal }: iam.IGrantable,
  key: IKey | undefined,
  may: 'read' | 'write',
  service: 'dynamodb' | 'secretsmanager' | 'sqs',
): void {
  if (!key) return;
  const { region, urlSuffix } = Stack.of(key);
  const conditions = { StringEquals: { 'kms:ViaService': `${service}.${region}.${urlSuffix}` } };
  const actions = may === 'read' ? reading : writing;
  const resources = [key.keyArn];
  grantPrincipal.addToPrincipalPolicy(new iam.PolicyStatement({ actions, resources, conditions }));
}

/**
 * Says why a finding of AwsSolutions is no fault.
 * @param rule `SQS3`, or with its resource as cdk-nag writes it
 */
export const acknowledge = (scope: IConstruct, rule: string, reason: string): void =>
  Validations.of(scope).acknowledge({ id: `AwsSolutions-${rule}`, reason });
