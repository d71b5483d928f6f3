import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, type Stack } from 'aws-cdk-lib';
import cdkJson from '../../cdk.json' with { type: 'json' };
import { readSettings } from '../../infra/settings/settings.ts';
import { deployService } from '../../infra/stack/deployment.ts';

/** The feature flags of `cdk.json`. */
export const { context } = cdkJson;

/**
 * The stack of a deployment; its functions are not bundled, which takes seconds. The built-in
 * validation takes one.
 */
export function stackWith(
  settings: Record<string, unknown> = {},
  { builtinCloudFormationValidation = false, moreContext = {} } = {},
) {
  const bundlingContext = { ...context, ...moreContext, 'aws:cdk:bundling-stacks': [] };
  const options = { stackTraces: false, treeMetadata: false, builtinCloudFormationValidation };
  const app = new App({ context: bundlingContext, ...options });
  return { app, ...deployService(app, readSettings({ stack: 'a-stack', ...settings })) };
}

export interface StackParts<Template> {
  name: string;
  /** Account and region: `aws://123456789012/eu-west-1`. */
  environment: string;
  terminationProtection: boolean;
  tags: Record<string, string>;
  /** The names of the stacks that are deployed before. */
  after: string[];
  template: Template;
}

/**
 * What CloudFormation gets of a deployment: the stack of the service, that within it, and that of
 * the edge if it has one.
 */
export interface Stacks<Template> {
  service: StackParts<Template>;
  /** The template of the nested stack, with the alarms, the dashboard and the deployment groups. */
  watching: Template;
  edge: StackParts<Template> | undefined;
}
export type Synthesized = Stacks<Record<string, unknown>>;

/**
 * Synthesizes a deployment.
 * @param moreContext of the CDK itself
 */
export function synthesize(settings: Record<string, unknown>, moreContext = {}): Synthesized {
  const { app, stack, service, edge } = stackWith(settings, { moreContext });
  const assembly = app.synth();
  const partsOf = ({ artifactId }: Stack): Synthesized['service'] => {
    const made = assembly.getStackArtifact(artifactId);
    return {
      name: made.stackName,
      environment: made.environment.name,
      terminationProtection: made.terminationProtection ?? false,
      tags: made.tags,
      after: assembly.stacks
        .filter((other) => made.dependencies.includes(other))
        .map((one) => one.stackName),
      template: made.template,
    };
  };
  return {
    service: partsOf(stack),
    watching: JSON.parse(
      readFileSync(join(assembly.directory, service.watching.templateFile), 'utf8'),
    ),
    edge: edge && partsOf(edge),
  };
}
