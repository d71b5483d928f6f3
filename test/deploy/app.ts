import { App, CfnResource } from 'aws-cdk-lib';
import { CfnAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { readFunctions } from '../../infra/endpoints.ts';
import { readDeployment } from '../../infra/settings/deployment-file.ts';
import { LoginService } from '../../infra/stack/login-service.ts';

/** Resources that MiniStack cannot create. */
const unsupported = new Set([
  'AWS::SecretsManager::RotationSchedule',
  // Waits for that schedule.
  'Custom::FirstRotation',
  'AWS::SecretsManager::ResourcePolicy',
]);

/**
 * The app of `infra/app.ts` as MiniStack can deploy it: without the resources it cannot create, with alarms over one
 * metric, and with the address in `FRONT_URL` as its issuer.
 */
const app = new App();
const stack = new LoginService(app, readDeployment(app.node.getAllContext()), await readFunctions());
const adapted = { leftOut: [] as string[], overOneMetric: [] as string[] };

for (const resource of stack.node.findAll().filter((construct) => CfnResource.isCfnResource(construct))) {
  const id = String(stack.resolve(resource.logicalId));
  if (unsupported.has(resource.cfnResourceType)) {
    resource.node.scope?.node.tryRemoveChild(resource.node.id);
    adapted.leftOut.push(id);
  }
  if (resource instanceof CfnFunction) {
    resource.addPropertyOverride('Environment.Variables.ISSUER', process.env.FRONT_URL);
    // MiniStack shares this machine's cores with everything else, so its answers take longer than those of AWS.
    resource.addPropertyOverride('Environment.Variables.AWS_CALL_MILLISECONDS', '10000');
  }
  if (resource instanceof CfnAlarm && resource.metrics) {
    const metrics: CfnAlarm.MetricDataQueryProperty[] = stack.resolve(resource.metrics);
    const stat = metrics.find(({ metricStat }) => metricStat)?.metricStat;
    if (!stat || 'resolve' in stat || 'resolve' in stat.metric) throw new Error(`${id} watches no metric.`);
    const { namespace, metricName, dimensions } = stat.metric;
    Object.assign(resource, {
      metrics: undefined,
      namespace,
      metricName,
      dimensions,
      period: stat.period,
      statistic: 'Sum',
    });
    adapted.overOneMetric.push(id);
  }
}
process.stderr.write(`MiniStack cannot create ${adapted.leftOut.join(', ')}: left out.\n`);
process.stderr.write(
  `MiniStack knows no metric math: ${adapted.overOneMetric.join(', ')} over one metric.\n`,
);
