import type { IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { CfnApplication, CfnDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';

interface DeploymentGroupsProps {
  /** The name of the application. */
  name: string;
  /** The role with which CodeDeploy moves aliases. */
  role: IRole;
  minutes: number;
  /** The keys of the functions. Their groups are named after them. */
  keys: readonly string[];
  /** The alarms on which a new version of a function is rolled back, and a deployment that begins while one is on is stopped. */
  alarmsOf: (key: string) => IAlarm[];
}

/** The CodeDeploy application and a group for each function: how its new version goes live, and on which alarms it is rolled back. */
export class DeploymentGroups extends Construct {
  constructor(scope: Construct, id: string, { name, role, minutes, keys, alarmsOf }: DeploymentGroupsProps) {
    super(scope, id);
    const application = new CfnApplication(this, 'Application', {
      applicationName: name,
      computePlatform: 'Lambda',
    });
    for (const key of keys) {
      const alarms = alarmsOf(key);
      new CfnDeploymentGroup(this, key, {
        applicationName: application.ref,
        // Aliases name it, in the template of the stack around this one.
        deploymentGroupName: key,
        serviceRoleArn: role.roleArn,
        deploymentConfigName: `CodeDeployDefault.LambdaCanary10Percent${minutes}Minutes`,
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
}
