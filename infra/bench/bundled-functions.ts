import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { readFunctions } from '../endpoints.ts';
import { readSettings } from '../settings.ts';
import { LoginService } from '../stack/login-service.ts';

const { context } = v.parse(
  v.object({ context: v.record(v.string(), v.unknown()) }),
  JSON.parse(readFileSync(join(import.meta.dirname, '../../cdk.json'), 'utf8')),
);

const bundled = v.object({ Metadata: v.object({ 'aws:asset:path': v.string() }) });

/** Every function of the stack, built as for a deployment, and the file that Lambda loads. */
export async function bundledFunctions(outdir: string): Promise<{ name: string; file: string }[]> {
  const app = new App({ outdir, context: { ...context, 'aws:cdk:enable-asset-metadata': true } });
  const stack = new LoginService(app, readSettings({}), await readFunctions());
  app.synth();
  return Object.entries(Template.fromStack(stack).findResources('AWS::Lambda::Function')).map(
    ([name, resource]) => ({
      name,
      file: join(outdir, v.parse(bundled, resource).Metadata['aws:asset:path'], 'index.mjs'),
    }),
  );
}
