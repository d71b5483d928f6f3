import { NestedStack } from 'aws-cdk-lib';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { DeploymentGroups } from './deployment-groups.ts';
import { ServiceAlarms, type ServiceAlarmsProps } from './service-alarms.ts';
import { ServiceDashboard } from './service-dashboard.ts';

interface WatchingProps extends ServiceAlarmsProps {
  /** The role with which CodeDeploy moves aliases. Without a canary there is none. */
  role: IRole | undefined;
}

/**
 * The alarms, the dashboard, and the deployment groups that roll back on the alarms: everything that holds no data and
 * that no request needs, in a stack within the service's, since a stack can have 500 resources.
 */
export class Watching extends NestedStack {
  constructor(scope: Construct, id: string, { role, ...props }: WatchingProps) {
    super(scope, id, { description: 'Alarms, dashboard and deployment groups' });
    const { settings, measurements, endpoints } = props;
    const alarms = new ServiceAlarms(this, 'Alarms', props);
    new ServiceDashboard(this, 'Dashboard', measurements, alarms.all);
    if (!role) return;
    new DeploymentGroups(this, 'LiveVersions', {
      name: settings.stack,
      role,
      minutes: settings.canaryMinutes,
      keys: endpoints.map(({ served }) => served.key),
      alarmsOf: (key) => (settings.ignoreAlarms ? [] : alarms.about(key)),
    });
  }
}
