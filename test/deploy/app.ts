import { App, CfnResource } from 'aws-cdk-lib';
import { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { readDeployment } from '../../infra/settings/deployment-file.ts';
import { deployService } from '../../infra/stack/deployment.ts';

/** Resources that MiniStack cannot create. */
const unsupported = new Set([
  'AWS::SecretsManager::RotationSchedule',
  // Waits for that schedule.
  'Custom::FirstRotation',
  'AWS::SecretsManager::ResourcePolicy',
  // The alarms, and the dashboard.
  'AWS::CloudFormation::Stack',
]);

/**
 * The app of `infra/app.ts` without the resources that MiniStack cannot create, and with
 * `FRONT_URL` as its issuer.
 */
const app = new App();
const { stack } = deployService(app, readDeployment(app.node.getAllContext()));
const leftOut: string[] = [];

for (const resource of stack.node
  .findAll()
  .filter((construct) => CfnResource.isCfnResource(construct))) {
  const id = String(stack.resolve(resource.logicalId));
  if (unsupported.has(resource.cfnResourceType)) {
    resource.node.scope?.node.tryRemoveChild(resource.node.id);
    leftOut.push(id);
  }
  if (resource instanceof CfnFunction) {
    resource.addPropertyOverride('Environment.Variables.ISSUER', process.env.FRONT_URL);
    // MiniStack shares this machine's cores with everything else, so its answers take longer than
    // those of AWS.
    resource.addPropertyOverride('Environment.Variables.AWS_CALL_MILLISECONDS', '10000');
  }
}
process.stderr.write(`MiniStack cannot create ${leftOut.join(', ')}: left out.\n`);
