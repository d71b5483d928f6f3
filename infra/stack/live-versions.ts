import { Aws, CfnResource, CustomResource, Duration, type NestedStack } from 'aws-cdk-lib';
import type { IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { CfnApplication, CfnDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import { CfnAlias, CfnFunction, type IFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { readableFormats, writtenFormat } from '../../lib/storage/table-format.ts';
import { logicalIdOf } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import { acknowledge, allow, InlineRole } from './rights.ts';
import { resourceOf, ServiceFunction } from './service-function.ts';

/** The alias by which the API calls each function. */
export const liveAlias = 'live';

/**
 * How new code goes live: the API calls functions by their aliases. With a canary, CodeDeploy moves an alias for a tenth of the
 * requests, for all of them some minutes later, and back when an alarm goes off.
 */
export class LiveVersions extends Construct {
  /** The role with which CodeDeploy moves aliases, if there is a canary. */
  readonly role: InlineRole | undefined;
  readonly aliases: CfnAlias[] = [];
  readonly #settings: Settings;
  readonly #check: IFunction | undefined;

  /** @param check tries new versions before they get requests. Without it, there is no canary: a new version is live at once. */
  constructor(scope: Construct, id: string, settings: Settings, check: IFunction | undefined) {
    super(scope, id);
    this.#settings = settings;
    this.#check = check;
    if (!check) return;
    const policy = 'service-role/AWSCodeDeployRoleForLambdaLimited';
    const managed = [ManagedPolicy.fromAwsManagedPolicyName(policy)];
    this.role = new InlineRole(this, 'Role', 'codedeploy.amazonaws.com', managed);
    allow(this.role, ['lambda:InvokeFunction'], [check.functionArn]);
    const rule = `IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${policy}]`;
    acknowledge(this.role, rule, 'AWS keeps it to what CodeDeploy needs, and no function has the role');
  }

  /** The live version of a function. The last one asked for goes live last. @param groups the stack of the deployment groups */
  of({ key, lambda }: ServiceFunction, groups: NestedStack): IFunction {
    const alias = lambda.addAlias(liveAlias);
    const resource = resourceOf(alias, CfnAlias);
    resource.overrideLogicalId(`${logicalIdOf(key)}Live`);
    this.#goLiveAfterEarlierGroup(resource);
    if (this.#check) {
      alias.node.addDependency(groups);
      resource.cfnOptions.updatePolicy = {
        codeDeployLambdaAliasUpdate: {
          applicationName: this.#settings.stack,
          deploymentGroupName: key,
          beforeAllowTrafficHook: this.#check.functionName,
        },
      };
    }
    // To the compiler, an `Alias` is no `IFunction`: its role may be undefined.
    return LambdaFunction.fromFunctionAttributes(this, `${key}-live`, {
      functionArn: alias.functionArn,
      sameEnvironment: true,
    });
  }

  /**
   * Makes an alias wait for the group before its own. CodeDeploy calls Lambda for a whole group through one role; with too many
   * calls, a deployment fails.
   * @see AWS CodeDeploy API reference, "ErrorInformation": THROTTLED
   */
  #goLiveAfterEarlierGroup(alias: CfnAlias): void {
    const { canariesAtOnce } = this.#settings;
    const group = Math.floor(this.aliases.length / canariesAtOnce);
    const earlierGroup = this.aliases.slice(Math.max(0, group - 1) * canariesAtOnce, group * canariesAtOnce);
    for (const earlier of earlierGroup) alias.addResourceDependency(earlier);
    this.aliases.push(alias);
  }
}

/** Lets the function that CodeDeploy invokes before a version goes live call the new versions, and tell CodeDeploy about each. */
export function newVersionCheck(check: ServiceFunction, served: readonly ServiceFunction[], stack: string) {
  const groups = (partition: string, region: string, account: string): string =>
    `arn:${partition}:codedeploy:${region}:${account}:deploymentgroup:${stack}/*`;
  // The environment of a function takes 4 KB: too little for ARNs.
  const versions = served.map(
    ({ key, lambda }) => `${key}=${lambda.functionName}:${lambda.currentVersion.version}`,
  );
  check.lambda.addEnvironment('NEW_VERSIONS', versions.join(' '));
  // Of all versions: a permission that is new may take effect only after CodeDeploy's call.
  const anyVersions = served.map(({ lambda }) => `${lambda.functionArn}:*`);
  allow(check.lambda, ['lambda:InvokeFunction'], anyVersions);
  const ownGroups = groups(Aws.PARTITION, Aws.REGION, Aws.ACCOUNT_ID);
  allow(check.lambda, ['codedeploy:PutLifecycleEventHookExecutionStatus'], [ownGroups]);
  const anyGroup = groups('<AWS::Partition>', '<AWS::Region>', '<AWS::AccountId>');
  acknowledge(check, `IAM5[Resource::${anyGroup}]`, 'One by one, they would near the most that IAM takes');
  for (const { key } of served)
    acknowledge(check, `IAM5[Resource::<${logicalIdOf(key)}.Arn>:*]`, 'A deployment calls its new version');
  return check.lambda;
}

/**
 * The CodeDeploy application, and a group for each function: how its new version goes live, and the alarms that roll it back or,
 * when they are on already, stop the deployment.
 */
export function deploymentGroups(
  stack: NestedStack,
  settings: Settings,
  role: InlineRole,
  alarmsOf: ReadonlyMap<string, IAlarm[]>,
): void {
  const scope = new Construct(stack, 'LiveVersions');
  const application = new CfnApplication(scope, 'Application', {
    applicationName: settings.stack,
    computePlatform: 'Lambda',
  });
  for (const [key, rollingBack] of alarmsOf) {
    const alarms = settings.ignoreAlarms ? [] : rollingBack;
    new CfnDeploymentGroup(scope, key, {
      applicationName: application.ref,
      // Aliases name it, in the template of the stack around this one.
      deploymentGroupName: key,
      serviceRoleArn: role.roleArn,
      deploymentConfigName: `CodeDeployDefault.LambdaCanary10Percent${settings.canaryMinutes}Minutes`,
      deploymentStyle: { deploymentType: 'BLUE_GREEN', deploymentOption: 'WITH_TRAFFIC_CONTROL' },
      alarmConfiguration: {
        enabled: alarms.length > 0,
        alarms: alarms.map(({ alarmName }) => ({ name: alarmName })),
      },
      autoRollbackConfiguration: {
        enabled: true,
        events: ['DEPLOYMENT_FAILURE', ...(alarms.length > 0 ? ['DEPLOYMENT_STOP_ON_ALARM'] : [])],
      },
    });
  }
}

/**
 * Keeps code away from a table that it can't read: the guard of the new code checks the table's format before another function is
 * updated.
 * @returns the resource that records the format of the new code, to be made once all functions are live
 */
export function guardTableFormat(service: Construct, guard: ServiceFunction, TableName: string) {
  const scope = new Construct(service, 'TableFormat');
  const step = (Step: 'check' | 'record', Format: string): CustomResource =>
    new CustomResource(scope, Step, {
      resourceType: 'Custom::TableFormat',
      serviceToken: guard.lambda.functionArn,
      // Three attempts, with pauses of one and two minutes.
      serviceTimeout: Duration.minutes(6),
      // CloudFormation asks again whenever a property changes.
      properties: { Step, Format, TableName },
    });
  const check = resourceOf(step('check', String(readableFormats)), CfnResource);
  for (const one of service.node.findAll()) {
    if (one instanceof ServiceFunction && one !== guard)
      resourceOf(one.lambda, CfnFunction).addResourceDependency(check);
  }
  return step('record', String(writtenFormat));
}
