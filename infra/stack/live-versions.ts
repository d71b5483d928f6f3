import { Validations } from 'aws-cdk-lib';
import type { IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnAlias, type IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { NewVersionCheck } from './new-version-check.ts';
import { resourceOf } from './resource-of.ts';
import { logicalIdOf, type ServiceFunction } from './service-function.ts';

/** Resources that CodeDeploy needs to move aliases to a new version and back. */
const policy = 'service-role/AWSCodeDeployRoleForLambdaLimited';

/**
 * Deployments that CodeDeploy carries out at once. It calls Lambda for all of them through one role; when their calls
 * together exceed Lambda's request limit, a deployment fails.
 * @see AWS CodeDeploy API reference, "ErrorInformation": THROTTLED
 */
const mostAtOnce = 5;

interface Canary {
  /** Each rolls a new version back, and stops a deployment that begins while it is on. */
  alarms: IAlarm[];
  /** Decides whether a new version may get requests at all. */
  check: NewVersionCheck;
}

/**
 * How new code goes live. The API calls each function by its alias `live`. With a canary, CodeDeploy moves the alias to
 * the new version for a tenth of the requests, for all of them after five minutes, and back when the alarm goes off.
 */
export class LiveVersions extends Construct {
  readonly #aliases: CfnAlias[] = [];
  readonly #canary: (Canary & { application: LambdaApplication; role: Role }) | undefined;

  /** @param canary without one, a new version is live at once */
  constructor(scope: Construct, id: string, canary: Canary | undefined) {
    super(scope, id);
    if (!canary) return;
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('codedeploy.amazonaws.com'),
      managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName(policy)],
    });
    Validations.of(role).acknowledge({
      id: `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${policy}]`,
      reason: 'AWS keeps this policy to what CodeDeploy needs for Lambda; no function has the role',
    });
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::<CheckNewVersions.Arn>:*]',
      reason: 'The permission to invoke a function names its versions too, of which this one has none',
    });
    this.#canary = { ...canary, application: new LambdaApplication(this, 'Application'), role };
  }

  /** The names under which the API calls the functions. One that exists is live. */
  get aliases(): readonly CfnAlias[] {
    return this.#aliases;
  }

  /** The live version of a function. The last one asked for goes live last. */
  of({ key, lambda }: ServiceFunction): IFunction {
    const alias = lambda.addAlias('live');
    const resource = resourceOf(alias, CfnAlias);
    resource.overrideLogicalId(`${logicalIdOf(key)}Live`);
    this.#goLiveAfterEarlierGroup(resource);
    if (this.#canary) {
      const { application, role, alarms, check } = this.#canary;
      new LambdaDeploymentGroup(this, key, {
        application,
        alias,
        role,
        alarms,
        ...(check.calls(key) && { preHook: check.lambda }),
        deploymentConfig: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
      });
    }
    // To the compiler, an `Alias` is no `IFunction` (its role may be undefined), so it is referred to by its ARN.
    return LambdaFunction.fromFunctionAttributes(this, `${key}-live`, {
      functionArn: alias.functionArn,
      sameEnvironment: true,
    });
  }

  /** Each alias of a group waits for the group before. */
  #goLiveAfterEarlierGroup(alias: CfnAlias): void {
    const group = Math.floor(this.#aliases.length / mostAtOnce);
    for (const earlier of this.#aliases.slice(Math.max(0, group - 1) * mostAtOnce, group * mostAtOnce)) {
      alias.addResourceDependency(earlier);
    }
    this.#aliases.push(alias);
  }
}
