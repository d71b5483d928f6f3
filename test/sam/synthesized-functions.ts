import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import * as v from 'valibot';
import { logicalIdOf } from '../../infra/stack/service-function.ts';

const functionResource = v.object({
  Properties: v.object({
    Handler: v.string(),
    Timeout: v.number(),
    MemorySize: v.number(),
    Environment: v.optional(v.object({ Variables: v.record(v.string(), v.unknown()) }), { Variables: {} }),
  }),
  Metadata: v.object({ 'aws:asset:path': v.string() }),
});

const template = v.looseObject({ Resources: v.record(v.string(), v.looseObject({ Type: v.string() })) });

/** What `cdk synth` made. */
export interface CloudAssembly {
  directory: string;
  template: v.InferOutput<typeof template>;
}

/** Has the CDK synthesize the stack into a folder. */
export async function synthesize(directory: string): Promise<CloudAssembly> {
  await execa('cdk', ['synth', '--quiet', '--output', directory]);
  const file = join(directory, 'login-service.template.json');
  return { directory, template: v.parse(template, JSON.parse(readFileSync(file, 'utf8'))) };
}

/** A function as the template describes it. */
export interface SynthesizedFunction {
  /** The folder of its bundle. */
  code: string;
  handler: string;
  timeoutSeconds: number;
  memoryMegabytes: number;
  /** The environment, with what only a deployment gives: references to other resources. */
  variables: Record<string, unknown>;
}

/** The function whose key it is: `issue-token` is `IssueToken` in the template. */
export function functionOf({ directory, template }: CloudAssembly, key: string): SynthesizedFunction {
  const found = template.Resources[logicalIdOf(key)];
  if (found?.Type !== 'AWS::Lambda::Function') throw new Error(`The template has no function ${key}.`);
  const { Properties, Metadata } = v.parse(functionResource, found);
  return {
    code: join(directory, Metadata['aws:asset:path']),
    handler: Properties.Handler,
    timeoutSeconds: Properties.Timeout,
    memoryMegabytes: Properties.MemorySize,
    variables: Properties.Environment.Variables,
  };
}

/**
 * The environment that a function of the template has on this machine.
 * @param references what a variable that refers to another resource is here
 * @throws Error naming a variable that refers to a resource which is not here
 */
export const environmentOf = (
  { variables }: SynthesizedFunction,
  references: Record<string, string>,
): Record<string, string> =>
  Object.fromEntries(
    Object.entries(variables).map(([name, value]) => {
      const here = typeof value === 'string' ? value : references[name];
      if (here === undefined) throw new Error(`${name} refers to a resource that is not on this machine.`);
      return [name, here];
    }),
  );
