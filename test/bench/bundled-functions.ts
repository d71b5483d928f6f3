import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import * as v from 'valibot';
import { readSettings } from '../../infra/settings/settings.ts';
import { bundling } from '../../infra/stack/bundling.ts';
import { deployService } from '../../infra/stack/deployment.ts';

const { context } = v.parse(
  v.object({ context: v.record(v.string(), v.unknown()) }),
  JSON.parse(readFileSync(join(import.meta.dirname, '../../cdk.json'), 'utf8')),
);

/** The name of the bundle that the functions are compared with. */
export const documentClientAlone = 'the DynamoDB document client';

const bundled = v.object({ Metadata: v.object({ 'aws:asset:path': v.string() }) });

/**
 * Every function of the stack, built as for a deployment, and before them one that has nothing but the DynamoDB document
 * client; each with the file that Lambda loads.
 */
export async function bundledFunctions(outdir: string): Promise<{ name: string; file: string }[]> {
  const app = new App({ outdir, context: { ...context, 'aws:cdk:enable-asset-metadata': true } });
  const alone = new Stack(app, 'Alone');
  new NodejsFunction(alone, 'DocumentClient', {
    entry: join(import.meta.dirname, 'document-client.ts'),
    runtime: Runtime.NODEJS_24_X,
    bundling,
  });
  const { stack: service } = deployService(app, readSettings({}));
  app.synth();
  return [alone, service].flatMap((stack) =>
    Object.entries(Template.fromStack(stack).findResources('AWS::Lambda::Function')).map(
      ([name, resource]) => ({
        name: stack === alone ? documentClientAlone : name,
        file: join(outdir, v.parse(bundled, resource).Metadata['aws:asset:path'], 'index.mjs'),
      }),
    ),
  );
}
