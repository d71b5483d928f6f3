import { hash } from 'node:crypto';
import { Lazy, Stack, Validations } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import cdk from 'aws-cdk-lib/package.json' with { type: 'json' };
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

  /** Gives a right that the function of 1.0.0 does not need. */
  addNew(statement: iam.PolicyStatement): void {
    this.addToPrincipalPolicy(statement);
  }
}

/**
 * The role of a function, with its rights in a policy whose logical id and name end in a hash of
 * them. If they change, an update creates another policy before the function changes, and deletes
 * the old one when everything is live; a rollback deletes the new one last. So every version has
 * its rights while it may be called.
 *
 * 1.0.0 had the rights in the role, where an update changes them before the function. A copy keeps
 * what 1.0.0 needs there for one release. IAM limits the sum of all: the copy, the old policy and
 * the new one.
 * @see AWS CloudFormation user guide, "Understand update behaviors of stack resources": Replacement
 */
export class FunctionRole extends iam.Role {
  readonly #rights = new iam.PolicyDocument();
  readonly #former: iam.PolicyDocument;

  /** @param isFormer whether 1.0.0 had this role, too */
  constructor(scope: Construct, id: string, isFormer: boolean) {
    const former = new iam.PolicyDocument();
    super(scope, id, {
      assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com'),
      inlinePolicies: isFormer ? { Rights: former } : {},
    });
    this.#former = former;
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
    this.addNew(statement);
    this.keepFormer(statement);
    return { statementAdded: true, policyDependable: this };
  }

  /** Gives a right that the function of 1.0.0 does not need. */
  addNew(statement: iam.PolicyStatement): void {
    this.#rights.addStatements(statement);
  }

  /** Leaves the role a right that the function of 1.0.0 needs, if there was one. */
  keepFormer(statement: iam.PolicyStatement): void {
    this.#former.addStatements(statement);
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

/** A service that encrypts with the deployment's own key. */
export type KeyUser = 'dynamodb' | 'secretsmanager' | 'sqs';

/**
 * Lets services, for a role that can't use the deployment's own key itself, read or write what they
 * encrypt (kms:ViaService).
 */
export function allowKey(
  { grantPrincipal }: iam.IGrantable,
  key: IKey | undefined,
  may: 'read' | 'write',
  ...users: KeyUser[]
): void {
  if (!key) return;
  const { region, urlSuffix } = Stack.of(key);
  const services = [...new Set(users)].map((user) => `${user}.${region}.${urlSuffix}`);
  const conditions = { StringEquals: { 'kms:ViaService': services } };
  const actions = may === 'read' ? reading : writing;
  const resources = [key.keyArn];
  grantPrincipal.addToPrincipalPolicy(new iam.PolicyStatement({ actions, resources, conditions }));
}

/** Whether this CDK takes the names of rules with `::`, as 2.268 and newer ones do. */
const takesRules = Number(cdk.version.split('.')[1]) >= 268;

/**
 * Says why a finding of AwsSolutions is no fault.
 * @param rule `SQS3`, or with its resource as cdk-nag writes it
 */
export function acknowledge(scope: IConstruct, rule: string, reason: string): void {
  if (!takesRules) return;
  Validations.of(scope).acknowledge({ id: `AwsSolutions-${rule}`, reason });
}
