import {
  type AddToPrincipalPolicyResult,
  PolicyDocument,
  type PolicyStatement,
  Role,
  type RoleProps,
} from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';

/** A role that holds its rights itself. The CDK's default is a policy beside it, one more of the 500 resources of a stack. */
export class InlineRole extends Role {
  readonly #rights: PolicyDocument;

  constructor(scope: Construct, id: string, props: RoleProps) {
    const rights = new PolicyDocument();
    // Not the name of the policy that earlier versions had beside the role: its deletion would take this one along.
    super(scope, id, { ...props, inlinePolicies: { Rights: rights } });
    this.#rights = rights;
  }

  override addToPrincipalPolicy(statement: PolicyStatement): AddToPrincipalPolicyResult {
    this.#rights.addStatements(statement);
    return { statementAdded: true, policyDependable: this };
  }
}
