import { Validations } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { logicalIdOf, type ServiceFunction } from './service-function.ts';

/** The functions that the check calls, and the variables that name their new versions to it. */
const variables: Record<string, string> = {
  'issue-token': 'ISSUE_TOKEN_VERSION',
  'list-signing-keys': 'LIST_SIGNING_KEYS_VERSION',
  'search-events': 'SEARCH_EVENTS_VERSION',
};

/** The function that CodeDeploy invokes before one of these functions goes live. */
export interface NewVersionCheck {
  lambda: IFunction;
  /** Whether it calls the function of this key. */
  calls: (key: string) => boolean;
}

/** Lets a function call the new versions of those that it tries. */
export function newVersionCheck(check: ServiceFunction, served: readonly ServiceFunction[]): NewVersionCheck {
  for (const { key, lambda: tried } of served) {
    const variable = variables[key];
    if (!variable) continue;
    check.lambda.addEnvironment(variable, tried.currentVersion.functionArn);
    check.lambda.addToRolePolicy(
      // Not of one version alone: a new permission may take effect after CodeDeploy's call.
      new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [`${tried.functionArn}:*`] }),
    );
    Validations.of(check).acknowledge({
      id: `AwsSolutions-IAM5[Resource::<${logicalIdOf(key)}.Arn>:*]`,
      reason: 'Each deployment makes a version, which it must call before it can be sure of a new permission',
    });
  }
  return { lambda: check.lambda, calls: (key) => key in variables };
}
