import * as v from 'valibot';
import type { Template } from '../support/cloud-assembly.ts';
import { isOverMetrics, overOneMetric } from './plain-alarm.ts';

/** Resources that MiniStack refuses to create. */
const unsupported = new Set([
  'AWS::SecretsManager::RotationSchedule',
  'AWS::SecretsManager::ResourcePolicy',
  'AWS::CodeDeploy::Application',
  'AWS::CodeDeploy::DeploymentGroup',
]);

/** A rotation that Secrets Manager would start, by the logical ids of its secret and its function. */
const rotationSchedule = v.object({
  SecretId: v.object({ Ref: v.string() }),
  RotationLambdaARN: v.union([
    v.pipe(
      v.object({ 'Fn::GetAtt': v.tuple([v.string(), v.literal('Arn')]) }),
      v.transform((value) => value['Fn::GetAtt'][0]),
    ),
    v.pipe(
      v.object({ Ref: v.string() }),
      v.transform((value) => value.Ref),
    ),
  ]),
});
type RotationSchedule = v.InferOutput<typeof rotationSchedule>;

/** Changes what is in the environment of one function. */
export type ChangeEnvironment = (variables: Record<string, unknown>) => Record<string, unknown>;

export interface Adapted {
  template: Template;
  /** The logical ids of what was taken out. */
  left: string[];
  /** The logical ids of the alarms that now watch one metric instead of an expression. */
  simplified: string[];
  rotations: RotationSchedule[];
}

/**
 * A template that MiniStack can deploy: without the resources it refuses, with plain alarms, and with the functions' environment
 * changed for the test. All else is as it was synthesized.
 */
export function adaptToMiniStack(original: Template, change: ChangeEnvironment): Adapted {
  const resources = Object.entries(original.Resources);
  const left = resources.filter(([, { Type }]) => unsupported.has(Type)).map(([id]) => id);
  const kept = resources
    .filter(([id]) => !left.includes(id))
    .map(([id, resource]) => [
      id,
      withPlainAlarm(withEnvironment(withoutDependencies(resource, left), change)),
    ]);
  return {
    template: { ...original, Resources: Object.fromEntries(kept) },
    left,
    simplified: resources
      .filter(([, { Type, Properties }]) => Type === alarmType && isOverMetrics(Properties))
      .map(([id]) => id),
    rotations: resources
      .filter(([, { Type }]) => Type === 'AWS::SecretsManager::RotationSchedule')
      .map(([, { Properties }]) => v.parse(rotationSchedule, Properties)),
  };
}

const alarmType = 'AWS::CloudWatch::Alarm';

type Resource = Template['Resources'][string];

function withoutDependencies(resource: Resource, left: string[]): Resource {
  const { DependsOn, UpdatePolicy, ...rest } = resource;
  const dependencies = [DependsOn ?? []].flat().filter((id) => !left.includes(id));
  // The only update policy that names another resource is CodeDeploy's; MiniStack shifts no traffic.
  const leftPolicy = left.some((id) => JSON.stringify(UpdatePolicy ?? {}).includes(`"${id}"`));
  return {
    ...rest,
    ...(dependencies.length > 0 && { DependsOn: dependencies }),
    ...(UpdatePolicy !== undefined && !leftPolicy && { UpdatePolicy }),
  };
}

const functionProperties = v.looseObject({
  Environment: v.optional(v.looseObject({ Variables: v.record(v.string(), v.unknown()) }), { Variables: {} }),
});

function withEnvironment(resource: Resource, change: ChangeEnvironment): Resource {
  if (resource.Type !== 'AWS::Lambda::Function') return resource;
  const properties = v.parse(functionProperties, resource.Properties);
  const Variables = change(properties.Environment.Variables);
  return { ...resource, Properties: { ...properties, Environment: { Variables } } };
}

const withPlainAlarm = (resource: Resource): Resource =>
  resource.Type === alarmType && isOverMetrics(resource.Properties)
    ? { ...resource, Properties: overOneMetric(resource.Properties) }
    : resource;
