import { type App, Stack } from 'aws-cdk-lib';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import type { Settings } from '../settings/settings.ts';
import { version, versionTag } from '../version.ts';
import { Edge } from './edge.ts';
import { LoginService } from './login-service.ts';

/** Makes the stack of a deployment with its service and, with `edge`, the stack in front of it. */
export function deployService(app: App, settings: Settings) {
  const { stack: name, account, region, tags, ...props } = settings;
  const stack = new Stack(app, name, {
    tags: { ...tags, [versionTag]: version },
    env: definedOnly({ account, region }),
  });
  // The CDK leaves this id out of logical ids. With another, CloudFormation would replace all that
  // is deployed.
  const service = new LoginService(stack, 'Default', props);
  return { stack, service, edge: settings.edge ? new Edge(app, service) : undefined };
}
