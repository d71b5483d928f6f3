import { type NestedStack, Validations } from 'aws-cdk-lib';
import { ManagedPolicy, PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnAlias, type IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { InlineRole } from './inline-role.ts';
import { resourceOf } from './resource-of.ts';
import { logicalIdOf, type ServiceFunction } from './service-function.ts';

/** Resources that CodeDeploy needs to move aliases to a new version and back. */
const policy = 'service-role/AWSCodeDeployRoleForLambdaLimited';

interface LiveVersionsProps {
  /** The CodeDeploy application with a deployment group for each function. */
  application: string;
  /**
   * Deployments that CodeDeploy carries out at once. It calls Lambda for all of them through one role; when their calls
   * together exceed Lambda's request limit, a deployment fails.
   * @see AWS CodeDeploy API reference, "ErrorInformation": THROTTLED
   */
  atOnce: number;
  /** Decides whether new versions may get requests at all. Without one, there is no canary: a new version is live at once. */
  check: IFunction | undefined;
}

/**
 * How new code goes live. The API calls each function by its alias `live`. With a canary, CodeDeploy moves the alias to
 * the new version for a tenth of the requests, for all of them some minutes later, and back when an alarm goes off.
 */
export class LiveVersions extends Construct {
  /** The role with which CodeDeploy moves aliases, if there is a canary. */
  readonly role: InlineRole | undefined;
  readonly #aliases: CfnAlias[] = [];
  readonly #props: LiveVersionsProps;

  constructor(scope: Construct, id: string, props: LiveVersionsProps) {
    super(scope, id);
    this.#props = props;
    this.role = props.check && this.#roleToDeploy(props.check);
  }

  /** The names under which the API calls the functions. One that exists is live. */
  get aliases(): readonly CfnAlias[] {
    return this.#aliases;
  }

  /**
   * The live version of a function. The last one asked for goes live last.
   * @param groups the stack of the deployment groups
   */
  of({ key, lambda }: ServiceFunction, groups: NestedStack): IFunction {
    const alias = lambda.addAlias('live');
    const resource = resourceOf(alias, CfnAlias);
    resource.overrideLogicalId(`${logicalIdOf(key)}Live`);
    this.#goLiveAfterEarlierGroup(resource);
    const { application, check } = this.#props;
    if (check) {
      alias.node.addDependency(groups);
      resource.cfnOptions.updatePolicy = {
        codeDeployLambdaAliasUpdate: {
          applicationName: application,
          deploymentGroupName: key,
          beforeAllowTrafficHook: check.functionName,
        },
      };
    }
    // To the compiler, an `Alias` is no `IFunction` (its role may be undefined), so it is referred to by its ARN.
    return LambdaFunction.fromFunctionAttributes(this, `${key}-live`, {
      functionArn: alias.functionArn,
      sameEnvironment: true,
    });
  }

  #roleToDeploy(check: IFunction): InlineRole {
    const role = new InlineRole(this, 'Role', {
      assumedBy: new ServicePrincipal('codedeploy.amazonaws.com'),
      managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName(policy)],
    });
    role.addToPolicy(
      new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [check.functionArn] }),
    );
    Validations.of(role).acknowledge({
      id: `AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${policy}]`,
      reason: 'AWS keeps this policy to what CodeDeploy needs for Lambda; no function has the role',
    });
    return role;
  }

  /** Each alias of a group waits for the group before. */
  #goLiveAfterEarlierGroup(alias: CfnAlias): void {
    const { atOnce } = this.#props;
    const group = Math.floor(this.#aliases.length / atOnce);
    for (const earlier of this.#aliases.slice(Math.max(0, group - 1) * atOnce, group * atOnce)) {
      alias.addResourceDependency(earlier);
    }
    this.#aliases.push(alias);
  }
}
