import { Aws, CfnResource, CustomResource, Duration } from 'aws-cdk-lib';
import { CfnApplication, CfnDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import { CfnAlias, CfnFunction, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { readableFormats, writtenFormat } from '../../lib/storage/table-format.ts';
import { pascal } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import { acknowledge, allow, InlineRole } from './rights.ts';
import {
  type EndpointFunction,
  liveAlias,
  resourceOf,
  ServiceFunction,
} from './service-function.ts';
import type { Watching } from './watching.ts';

/**
 * Makes the live versions of functions, by which the API calls them; the last function goes live
 * last. With a canary, CodeDeploy moves an alias for a tenth of the requests, for all of them some
 * minutes later, and back when an alarm goes off.
 * @param check tries new versions before they get requests. Without it, there is no canary: a new
 *   version is live at once.
 */
export function goLive(
  service: Construct,
  settings: Settings,
  functions: readonly EndpointFunction[],
  watching: Watching,
  check: ServiceFunction | undefined,
) {
  const scope = new Construct(service, 'LiveVersions');
  if (check) {
    const policy = 'service-role/AWSCodeDeployRoleForLambdaLimited';
    const managed = [ManagedPolicy.fromAwsManagedPolicyName(policy)];
    const role = new InlineRole(scope, 'Role', 'codedeploy.amazonaws.com', managed);
    const rule = `IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${policy}]`;
    acknowledge(role, rule, 'AWS keeps it to what CodeDeploy needs, and no function has the role');
    allowCheck(check, functions, role, settings.stack);
    deploymentGroups(watching, settings, functions, role);
  }
  const groupOf = (place: number): number => Math.floor(place / settings.canariesAtOnce);
  const aliases: CfnAlias[] = [];
  return functions.map((served, place) => {
    const { key, lambda } = served;
    const live = lambda.addAlias(liveAlias);
    const alias = resourceOf(live, CfnAlias);
    alias.overrideLogicalId(`${pascal(key)}Live`);
    // CodeDeploy calls Lambda for a whole group through one role; with too many calls, a deployment
    // fails. @see AWS CodeDeploy API reference, "ErrorInformation": THROTTLED
    const earlierGroup = aliases.filter((_, other) => groupOf(other) === groupOf(place) - 1);
    for (const earlier of earlierGroup) alias.addResourceDependency(earlier);
    aliases.push(alias);
    if (check) {
      alias.node.addDependency(watching);
      alias.cfnOptions.updatePolicy = {
        codeDeployLambdaAliasUpdate: {
          applicationName: settings.stack,
          deploymentGroupName: key,
          beforeAllowTrafficHook: check.lambda.functionName,
        },
      };
    }
    // To the compiler, an `Alias` is no `IFunction`: its role may be undefined.
    const target = LambdaFunction.fromFunctionAttributes(scope, `${key}-live`, {
      functionArn: live.functionArn,
      sameEnvironment: true,
    });
    return { served, alias, target };
  });
}

/**
 * Lets CodeDeploy invoke the check, and the check call the new versions and tell CodeDeploy about
 * each.
 */
function allowCheck(
  check: ServiceFunction,
  functions: readonly ServiceFunction[],
  role: InlineRole,
  stack: string,
) {
  allow(role, ['lambda:InvokeFunction'], [check.lambda.functionArn]);
  // The environment of a function takes 4 KB: too little for ARNs.
  const versions = functions.map(
    ({ key, lambda }) => `${key}=${lambda.functionName}:${lambda.currentVersion.version}`,
  );
  check.lambda.addEnvironment('NEW_VERSIONS', versions.join(' '));
  // Of all versions: a permission that is new may take effect only after CodeDeploy's call.
  const anyVersions = functions.map(({ lambda }) => `${lambda.functionArn}:*`);
  allow(check.lambda, ['lambda:InvokeFunction'], anyVersions);
  for (const { key } of functions)
    acknowledge(
      check,
      `IAM5[Resource::<${pascal(key)}.Arn>:*]`,
      'A deployment calls its new version',
    );
  const groups = (partition: string, region: string, account: string): string =>
    `arn:${partition}:codedeploy:${region}:${account}:deploymentgroup:${stack}/*`;
  const ownGroups = groups(Aws.PARTITION, Aws.REGION, Aws.ACCOUNT_ID);
  allow(check.lambda, ['codedeploy:PutLifecycleEventHookExecutionStatus'], [ownGroups]);
  const anyGroup = groups('<AWS::Partition>', '<AWS::Region>', '<AWS::AccountId>');
  acknowledge(
    check,
    `IAM5[Resource::${anyGroup}]`,
    'One by one, they would near the most that IAM takes',
  );
}

/**
 * A CodeDeploy group for each function: how its version goes live, and the alarms that roll it back
 * or keep it from starting.
 */
function deploymentGroups(
  watching: Watching,
  settings: Settings,
  functions: readonly EndpointFunction[],
  role: InlineRole,
): void {
  const scope = new Construct(watching, 'LiveVersions');
  const application = new CfnApplication(scope, 'Application', {
    applicationName: settings.stack,
    computePlatform: 'Lambda',
  });
  for (const served of functions) {
    const rollingBack = watching.alarmsOfNewVersion(served);
    const alarms = settings.ignoreAlarms ? [] : rollingBack;
    new CfnDeploymentGroup(scope, served.key, {
      applicationName: application.ref,
      // Aliases name it, in the template of the stack around this one.
      deploymentGroupName: served.key,
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
 * Keeps code that can't read the table from going live.
 * @returns what records the format of the new code, once all is live
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
