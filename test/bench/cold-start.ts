import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import * as v from 'valibot';
import { readSettings, tokenVariables } from '../../infra/settings/settings.ts';
import { bundling } from '../../infra/stack/bundling.ts';
import { deployService } from '../../infra/stack/deployment.ts';
import { context } from '../support/synthesize.ts';

/** How often each is measured. The least counts, since other work on the machine can only add to it. */
const rounds = 30;

/** What loading takes: milliseconds, and those of a processor, which count where a function has a part of one. */
const loading = v.object({ milliseconds: v.number(), cpu: v.number() });
type Loading = v.InferOutput<typeof loading>;

/** Loads a file as Lambda's runtime does and prints what this took. */
const load = `
  const before = process.cpuUsage();
  const start = performance.now();
  await import(process.argv[2]);
  const milliseconds = performance.now() - start;
  const { user, system } = process.cpuUsage(before);
  process.stdout.write(JSON.stringify({ milliseconds, cpu: (user + system) / 1000 }));
  process.exit();
`;

/** The environment of a deployed function. */
const environment = {
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'x',
  AWS_SECRET_ACCESS_KEY: 'x',
  TABLE_NAME: 'x',
  ISSUER: 'https://x.example',
  ...tokenVariables(readSettings({})),
  SIGNING_KEYS_SECRET_ID: 'x',
  REFRESH_TOKENS_SECRET_ID: 'x',
  PROVIDER_SETTINGS_SECRET_ID: 'x',
};

/** The name of the bundle that the functions are compared with. */
const documentClientAlone = 'the DynamoDB document client';

const bundled = v.object({ Metadata: v.object({ 'aws:asset:path': v.string() }) });

/**
 * Every function of the stack, built as for a deployment, and before them one that has nothing but the DynamoDB document
 * client; each with the file that Lambda loads.
 */
function bundledFunctions(outdir: string): { name: string; file: string }[] {
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

const loadingOf = (loader: string, file: string): Loading =>
  v.parse(
    loading,
    JSON.parse(execFileSync(process.execPath, [loader, file], { env: environment }).toString()),
  );

const print = (line: string) => process.stdout.write(`${line}\n`);

/** Prints each function's bytes, the milliseconds that a fresh process takes to load it, and their ratio to the document client's. */
async function main(directory: string): Promise<void> {
  const inDirectory = (name: string, code: string): string => {
    const file = join(directory, name);
    writeFileSync(file, code);
    return file;
  };
  const loader = inDirectory('load.mjs', load);
  const files = [
    { name: 'node:https', file: inDirectory('https.mjs', 'process.getBuiltinModule("node:https");') },
    ...bundledFunctions(join(directory, 'cdk.out')),
  ];
  const all = files.map((file) => ({ ...file, loadings: [] as Loading[] }));
  // In rounds, so that other work on the machine affects all of them alike.
  for (let round = 0; round < rounds; round++)
    for (const { file, loadings } of all) loadings.push(loadingOf(loader, file));

  const rows = all.map(({ name, file, loadings }) => ({
    name,
    bytes: statSync(file).size,
    ms: Math.min(...loadings.map(({ milliseconds }) => milliseconds)),
    cpu: Math.min(...loadings.map(({ cpu }) => cpu)),
  }));
  const unit = rows.find(({ name }) => name === documentClientAlone) ?? { ms: 0, cpu: 0 };
  print('| Loaded | Bytes | ms | Ratio | CPU ms | Ratio |');
  print('|---|---:|---:|---:|---:|---:|');
  for (const { name, bytes, ms, cpu } of rows) {
    const figures = [ms.toFixed(1), (ms / unit.ms).toFixed(2), cpu.toFixed(1), (cpu / unit.cpu).toFixed(2)];
    print(`| ${[name, bytes.toLocaleString('en-US'), ...figures].join(' | ')} |`);
  }
  const machine = `${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}`;
  print(`\nNode ${process.version}, ${machine}; the least of ${rounds}.`);
}

const directory = mkdtempSync(join(tmpdir(), 'login-service-bench-'));
try {
  await main(directory);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
