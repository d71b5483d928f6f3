import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { App, Stack } from 'aws-cdk-lib';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import { assetFilesOf, stacksOf, synthesizeFor } from '../../infra/package/template/assembly.ts';
import { readSettings } from '../../infra/settings/settings.ts';
import { everything } from '../support/deployments.ts';
import { context, synthesize } from '../support/synthesize.ts';

const folder = mkdtempSync(join(tmpdir(), 'templates-'));
afterAll(() => rmSync(folder, { recursive: true }));

const bucket = 'a-bucket';
const withoutBundles = { ...context, 'aws:cdk:bundling-stacks': [] };
const settings = readSettings({ ...everything, stack: 'a-stack' });
const assembly = synthesizeFor(bucket, settings, withoutBundles, folder);

/** A template without what names the bucket, and without the version of the bootstrap stack. */
function withoutBucket(template: Record<string, unknown>): unknown {
  const { Rules, Parameters, ...rest } = template;
  const { CheckBootstrapVersion: _, ...rules } = Object(Rules);
  const { BootstrapVersion: __, ...parameters } = Object(Parameters);
  const text = JSON.stringify({ ...rest, rules, parameters })
    .replaceAll(/\{"Fn::Sub":"cdk-hnb659fds-assets-[^"]+"\}/g, '"a-bucket"')
    .replaceAll(/cdk-hnb659fds-assets-123456789012-[\w-]+/g, 'a-bucket')
    .replaceAll('login-service/', '')
    // The ids of versions and the key of the template within are hashes of what names the bucket.
    .replaceAll(/(?<=CurrentVersion[0-9A-F]{8})[0-9a-f]{32}/g, '')
    .replaceAll(/(?<="NewVersions":")[0-9a-f]{64}/g, '')
    .replaceAll(/[0-9a-f]{64}(?=\.json)/g, '');
  return JSON.parse(text);
}

test('the templates are those of cdk deploy, but for the bucket', () => {
  const { service, edge } = synthesize(everything);
  const [ofService, ofEdge] = assembly.stacks.map(({ template }) => withoutBucket(template));
  expect(ofService).toEqual(withoutBucket(service.template));
  expect(ofEdge).toEqual(withoutBucket(Object(edge).template));
});

test('each stack comes with what CloudFormation has to be told', () => {
  const addressOf = (key: string) => `https://example.com/${key}`;
  const stacks = stacksOf(assembly, { region: 'eu-central-1', addressOf });
  const shown = stacks.map(({ name, region, capabilities }) => [name, region, capabilities]);
  expect(shown).toEqual([
    ['a-stack', 'eu-central-1', ['CAPABILITY_IAM']],
    ['a-stack-edge', 'us-east-1', []],
  ]);
  const keys = assetFilesOf(assembly).map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
  for (const { template_url } of stacks)
    expect(keys).toContain(template_url.replace('https://example.com/', ''));
});

test('a CDK app in any language can include that of the service, and loses nothing', () => {
  const { templateFullPath } = assembly.getStackByName('a-stack');
  const app = new App({ outdir: join(folder, 'included'), analyticsReporting: false });
  const stack = new Stack(app, 'a-stack');
  new CfnInclude(stack, 'LoginService', { templateFile: templateFullPath });
  const included = app.synth().getStackByName('a-stack').template;
  const given = JSON.parse(readFileSync(templateFullPath, 'utf8'));
  const resourcesOf = (template: { Resources: Record<string, { DependsOn?: string[] }> }) =>
    Object.entries(template.Resources)
      .map(([id, { DependsOn = [], ...rest }]) => [id, [DependsOn].flat().toSorted(), rest])
      .toSorted(([a], [b]) => String(a).localeCompare(String(b)));
  expect(resourcesOf(included)).toEqual(resourcesOf(given));
  expect(included.Outputs).toEqual(given.Outputs);
  expect(included.Rules).toMatchObject(Object(given.Rules));
});
