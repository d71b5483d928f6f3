import { isDeepStrictEqual } from 'node:util';
import { expect, test } from '@jest/globals';
import { Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Topic } from 'aws-cdk-lib/aws-sns';
import featureFlags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { AwsSolutionsChecks } from 'cdk-nag';
import { everything, variants } from '../support/deployments.ts';
import { embeddedApp, newApp } from '../support/embedded-app.ts';
import { context, stackWith } from '../support/synthesize.ts';

const validated = { builtinCloudFormationValidation: true };

test.each(variants)(
  "a deployment with %j meets CloudFormation's rules and the AwsSolutions rules, but for what the stack gives a reason for",
  (given) => {
    const { app, edge } = stackWith(given, validated);
    expect(edge !== undefined).toBe('edge' in given);
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    expect(() => app.synth()).not.toThrow();
  },
);

test('so does a service with resources of the app, and its edge', () => {
  const { app } = embeddedApp(newApp(featureFlags, true));
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  expect(() => app.synth()).not.toThrow();
});

test('what breaks a rule without a reason is found', () => {
  const { app, stack } = stackWith();
  new Topic(stack, 'OpenTopic');
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  expect(() => app.synth()).toThrow('OpenTopic');
});

/** Flags that only look at a template. */
const validating = [
  '@aws-cdk/core:annotationsInValidationReport',
  '@aws-cdk/core:validateAgainstDefaultRules',
  '@aws-cdk/core:validateSnapshotRemovalPolicy',
];

test('cdk.json has only the feature flags that change a template, and those that validate one', () => {
  const templatesWith = (moreContext: Record<string, unknown>): unknown => {
    const { stack, service, edge } = stackWith(everything, { moreContext });
    return [stack, service.watching, edge ?? stack].map((one) => Template.fromStack(one).toJSON());
  };
  const before = templatesWith({});
  const idle = Object.keys(context).filter((flag) =>
    isDeepStrictEqual(templatesWith({ [flag]: undefined }), before),
  );
  expect(idle).toEqual(validating);
});
