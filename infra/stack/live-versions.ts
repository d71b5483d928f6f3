import { hash } from 'node:crypto';
import { Aws, CfnResource, CustomResource, Duration, Lazy, RemovalPolicy } from 'aws-cdk-lib';
import { CfnApplication, CfnDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { ManagedPolicy, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  CfnAlias,
  CfnFunction,
  CfnVersion,
  Function as LambdaFunction,
} from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { readableFormats, writtenFormat } from '../../lib/storage/table-format.ts';
import { pascal } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import { acknowledge, allow } from './rights.ts';
import {
  type EndpointFunction,
  liveAlias,
  resourceOf,
  ServiceFunction,
} from './service-function.ts';
import type { Watching } from './watching.ts';

/**
 * Makes the live versions of functions, by which the API calls them. All new versions are tried
 * before any of them gets a request. Then the functions with few requests go live at once, and the
 * busy ones group by group, the last function last. With a canary, CodeDeploy moves the alias of a
 * busy one for a tenth of the requests, for all of them some minutes later, and back when an alarm
 * goes off.
 * @param check tries new versions
 */
export function goLive(
  service: Construct,
  settings: Settings,
  functions: readonly EndpointFunction[],
  watching: Watching,
  check: ServiceFunction,
) {
  const scope = new Construct(service, 'LiveVersions');
  const trial = tryFirst(scope, check, functions);
  const rare = functions.filter(({ access }) => !access.isBusy);
  const busy = functions.filter(({ access }) => access.isBusy);
  if (settings.canary) deploymentGroups(scope, watching, settings, busy);
  const groupOf = (served: EndpointFunction): number =>
    served.access.isBusy ? 1 + Math.floor(busy.indexOf(served) / settings.canariesAtOnce) : 0;
  const aliases = new Map<EndpointFunction, CfnAlias>();
  return [...rare, ...busy].map((served) => {
    const { key, lambda } = served;
    const live = lambda.addAlias(liveAlias);
    const alias = resourceOf(live, CfnAlias);
    alias.overrideLogicalId(`${pascal(key)}Live`);
    alias.node.addDependency(trial);
    // What can fail does so before anything is live.
    if (watching.nestedStackResource) alias.node.addDependency(watching.nestedStackResource);
    // CodeDeploy calls Lambda for a whole group through one role; with too many calls, a deployment
    // fails. @see AWS CodeDeploy API reference, "ErrorInformation": THROTTLED
    for (const [other, earlier] of aliases)
      if (groupOf(other) === groupOf(served) - 1) alias.node.addDependency(earlier);
    aliases.set(served, alias);
    if (settings.canary && served.access.isBusy)
      alias.cfnOptions.updatePolicy = {
        codeDeployLambdaAliasUpdate: { applicationName: settings.stack, deploymentGroupName: key },
      };
    // To the compiler, an `Alias` is no `IFunction`: its role may be undefined.
    const target = LambdaFunction.fromFunctionAttributes(scope, `${key}-live`, {
      functionArn: live.functionArn,
      sameEnvironment: true,
    });
    return { served, alias, target };
  });
}

/**
 * Tries all new versions in each update that has any.
 * @returns what fails, and with it the update, when they don't work
 */
function tryFirst(
  scope: Construct,
  check: ServiceFunction,
  functions: readonly EndpointFunction[],
): CfnResource {
  const versions = functions.map(({ key, lambda }) => [
    key,
    `${lambda.functionName}:${lambda.currentVersion.version}`,
  ]);
  const trial = new CustomResource(scope, 'Trial', {
    resourceType: 'Custom::Trial',
    serviceToken: check.lambda.functionArn,
    // Three attempts, with pauses of one and two minutes.
    serviceTimeout: Duration.minutes(11),
    properties: { Versions: Object.fromEntries(versions) },
    // There is nothing to delete, and the code of 1.0.0 would give no answer.
    removalPolicy: RemovalPolicy.RETAIN,
  });
  allow(check.lambda, ['cloudformation:DescribeStacks'], [Aws.STACK_ID]);
  // Of all versions: a permission that is new may take effect only after the call.
  const anyVersions = functions.map(({ lambda }) => `${lambda.functionArn}:*`);
  allow(check.lambda, ['lambda:InvokeFunction'], anyVersions);
  for (const { key } of functions)
    acknowledge(check, `IAM5[Resource::<${pascal(key)}.Arn>:*]`, 'A trial calls new versions');
  return resourceOf(trial, CfnResource);
}

/**
 * A CodeDeploy group for each busy function: how its version goes live, and the alarms that roll it
 * back or keep it from starting.
 */
function deploymentGroups(
  scope: Construct,
  watching: Watching,
  settings: Settings,
  functions: readonly EndpointFunction[],
): void {
  const policy = 'service-role/AWSCodeDeployRoleForLambdaLimited';
  const role = new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('codedeploy.amazonaws.com'),
    managedPolicies: [ManagedPolicy.fromAwsManagedPolicyName(policy)],
  });
  const rule = `IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/${policy}]`;
  acknowledge(role, rule, 'AWS keeps it to what CodeDeploy needs, and no function has the role');
  const within = new Construct(watching, 'LiveVersions');
  const application = new CfnApplication(within, 'Application', {
    applicationName: settings.stack,
    computePlatform: 'Lambda',
  });
  let before: CfnResource = application;
  for (const served of functions) {
    const rollingBack = watching.alarmsOfNewVersion(served);
    const alarms = settings.ignoreAlarms ? [] : rollingBack;
    const group = new CfnDeploymentGroup(within, served.key, {
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
    // CodeDeploy rejects the calls for all of them at once: "Rate exceeded".
    group.node.addDependency(before);
    before = group;
  }
}

/**
 * Stops an update before it changes any function: when its code can't read the table, and, with a
 * canary, when other versions are live than CloudFormation knows.
 * @returns what records the format of the new code, once all is live
 */
export function guardUpdate(
  service: Construct,
  { stack, canary }: Settings,
  guard: ServiceFunction,
  functions: readonly EndpointFunction[],
  TableName: string,
) {
  const scope = new Construct(service, 'TableFormat');
  const step = (
    properties: { Step: 'check' | 'record' } & Record<string, string>,
  ): CustomResource =>
    new CustomResource(scope, properties.Step, {
      resourceType: 'Custom::TableFormat',
      serviceToken: guard.lambda.functionArn,
      // Three attempts, with pauses of one and two minutes.
      serviceTimeout: Duration.minutes(6),
      // CloudFormation asks again whenever a property changes.
      properties: { ...properties, TableName },
    });
  // The versions wait for this step, so it has only their logical ids, which change with them.
  const versionIds = () => functions.map(({ lambda }) => versionIdOf(lambda));
  const NewVersions = Lazy.uncachedString({
    produce: ({ resolve }) => hash('sha256', String(resolve(versionIds()))),
  });
  const aliases = canary ? { LiveVersions: 'as deployed', NewVersions } : {};
  const Format = String(readableFormats);
  const check = resourceOf(step({ Step: 'check', Format, ...aliases }), CfnResource);
  for (const one of service.node.findAll()) {
    if (one instanceof ServiceFunction && one !== guard)
      resourceOf(one.lambda, CfnFunction).node.addDependency(check);
  }
  allow(
    guard.lambda,
    ['cloudformation:DescribeStacks', 'cloudformation:ListStackResources'],
    [Aws.STACK_ID],
  );
  // The functions wait for this one, so it can't name them. CloudFormation begins their names with
  // that of the stack, which it shortens if it is long.
  const begin = stack.length > 20 ? stack.slice(0, 20) : `${stack}-`;
  const functionsOf = (partition: string, region: string, account: string): string =>
    `arn:${partition}:lambda:${region}:${account}:function:${begin}*`;
  const ofStack = functionsOf(Aws.PARTITION, Aws.REGION, Aws.ACCOUNT_ID);
  allow(guard.lambda, ['lambda:GetAlias'], [ofStack]);
  const anyFunction = functionsOf('<AWS::Partition>', '<AWS::Region>', '<AWS::AccountId>');
  acknowledge(guard, `IAM5[Resource::${anyFunction}]`, 'Which version is live is no secret');
  return step({ Step: 'record', Format: String(writtenFormat) });
}

const versionIdOf = ({ currentVersion }: LambdaFunction): string =>
  resourceOf(currentVersion, CfnVersion).logicalId;
