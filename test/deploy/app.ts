import { App, CfnResource } from 'aws-cdk-lib';
import { CfnAlias, CfnFunction } from 'aws-cdk-lib/aws-lambda';
import { readDeployment } from '../../infra/settings/deployment-file.ts';
import { deployService } from '../../infra/stack/deployment.ts';
import { overrides, unsupported } from './unsupported.ts';

/**
 * The app of `infra/app.ts` without the resources that MiniStack cannot create, and with
 * `FRONT_URL` as its issuer.
 */
const app = new App();
const { stack } = deployService(app, readDeployment(app.node.getAllContext()));
const leftOut: string[] = [];

const resources = stack.node.findAll().filter((construct) => CfnResource.isCfnResource(construct));

const trials = resources
  .filter(({ cfnResourceType }) => cfnResourceType === 'Custom::Trial')
  .map(({ logicalId }) => stack.resolve(logicalId));

for (const resource of resources) {
  const id = String(stack.resolve(resource.logicalId));
  if (unsupported.has(resource.cfnResourceType)) {
    resource.node.scope?.node.tryRemoveChild(resource.node.id);
    for (const other of resources) other.removeDependency(resource);
    leftOut.push(id);
  }
  // They also wait for the nested stack of the alarms, which is left out.
  if (resource instanceof CfnAlias) resource.addOverride('DependsOn', trials);
  if (resource instanceof CfnFunction) {
    for (const [name, value] of Object.entries(overrides(process.env.FRONT_URL)))
      resource.addPropertyOverride(`Environment.Variables.${name}`, value);
  }
}
process.stderr.write(`MiniStack cannot create ${leftOut.join(', ')}: left out.\n`);
