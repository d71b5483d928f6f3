import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { settingNames } from '../../infra/settings/settings.ts';
import { stackWith, withEdge } from '../support/template.ts';

const resourceSchema = v.looseObject({
  Type: v.string(),
  DeletionPolicy: v.optional(v.string()),
  Properties: v.optional(v.record(v.string(), v.unknown()), {}),
});

const templateSchema = v.looseObject({
  Parameters: v.optional(v.record(v.string(), v.looseObject({ Default: v.optional(v.unknown()) })), {}),
  Resources: v.record(v.string(), resourceSchema),
  Outputs: v.optional(v.record(v.string(), v.unknown()), {}),
});

const deployableSchema = v.object({
  settings: v.array(v.string()),
  stacks: v.record(v.string(), templateSchema),
});

/** A CloudFormation template, as far as updates are compared. */
export type StackTemplate = v.InferOutput<typeof templateSchema>;
/** Everything about a version that a deployment depends on: the names of its settings and the templates of its stacks. */
export type Deployable = v.InferOutput<typeof deployableSchema>;

/** The file that holds what the last release deployed. */
export const keptFile = join(import.meta.dirname, 'template.json');

/** Reads what the last release deployed. */
export const lastRelease = (): Deployable =>
  v.parse(deployableSchema, JSON.parse(readFileSync(keptFile, 'utf8')));

/** Synthesizes what today's code deploys with a domain and an edge, without the hashes that change with the code. */
export function today(): Deployable {
  const { stack, edge } = stackWith(withEdge);
  if (!edge) throw new Error('There is no edge.');
  const stacks = Object.entries({ service: stack, edge }).map(([name, one]) => [
    name,
    JSON.parse(
      JSON.stringify(Template.fromStack(one).toJSON())
        .replaceAll(/[0-9a-f]{64}/g, 'HASH')
        .replaceAll(/(?<=CurrentVersion[0-9A-F]{8})[0-9a-f]{32}/g, 'HASH'),
    ),
  ]);
  return v.parse(deployableSchema, { settings: settingNames, stacks: Object.fromEntries(stacks) });
}
