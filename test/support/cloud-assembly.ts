import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { runLogged } from './commands.ts';

const resource = v.looseObject({
  Type: v.string(),
  Properties: v.optional(v.record(v.string(), v.unknown()), {}),
  DependsOn: v.optional(v.union([v.string(), v.array(v.string())])),
});
const template = v.looseObject({ Resources: v.record(v.string(), resource) });
export type Template = v.InferOutput<typeof template>;

/** What `cdk synth` made, in a folder that `cdk deploy --app` takes. */
export interface CloudAssembly {
  directory: string;
  template: Template;
}

/** Has the CDK synthesize the stack with these settings into a folder. */
export async function synthesize(
  directory: string,
  settings: Record<string, string> = {},
): Promise<CloudAssembly> {
  const context = Object.entries(settings).flatMap(([name, value]) => ['--context', `${name}=${value}`]);
  await runLogged(['cdk', 'synth', '--quiet', '--output', directory, ...context], {
    logFile: `${directory}.log`,
  });
  return { directory, template: readTemplate(directory) };
}

function readTemplate(directory: string): Template {
  return v.parse(template, JSON.parse(readFileSync(templateFile(directory), 'utf8')));
}

/** Replaces the template. It is published under its hash, and one that seems to be published already is not again. */
export function writeTemplate({ directory, template }: CloudAssembly): void {
  const text = JSON.stringify(template);
  writeFileSync(templateFile(directory), text);
  for (const file of filesEndingIn(directory, '.assets.json', 'manifest.json')) {
    const manifest = readFileSync(file, 'utf8');
    const published = manifest.match(/([0-9a-f]{64})\.json/)?.[1];
    if (published) writeFileSync(file, manifest.replaceAll(published, sha256(text)));
  }
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const filesEndingIn = (directory: string, ...ends: string[]): string[] =>
  readdirSync(directory)
    .filter((name) => ends.some((end) => name.endsWith(end)))
    .map((name) => join(directory, name));

function templateFile(directory: string): string {
  const [file, ...more] = filesEndingIn(directory, '.template.json');
  if (!file || more.length > 0) throw new Error(`${directory} does not hold exactly one template.`);
  return file;
}
