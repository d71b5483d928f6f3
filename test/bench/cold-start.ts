import { execFileSync } from 'node:child_process';
import { mkdtempDisposableSync, statSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';

import { pascal, readFunctions } from '../../infra/endpoints.ts';
import { readSettings, tokenVariables } from '../../infra/settings/settings.ts';
import { bundleOptions } from '../support/bundle-options.ts';

/**
 * How often each is measured. The least counts, since other work on the machine can only add to it.
 */
const rounds = 30;

/**
 * What loading takes: milliseconds, and those of a processor, which count where a function has a
 * part of one.
 */
type Loading = Record<'milliseconds' | 'cpu', number>;

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

/**
 * The document client alone, then every function, each bundled by itself: esbuild keeps for one
 * what another can reach.
 */
function bundledFunctions(outdir: string): Promise<{ name: string; file: string }[]> {
  const { endpoints, others } = readFunctions();
  const functions = [...endpoints.keys(), ...others.keys()].map((key) => [
    pascal(key),
    `functions/${key}.ts`,
  ]);
  const entries = [[documentClientAlone, 'test/bench/document-client.ts'], ...functions];
  return Promise.all(
    entries.map(async ([name = '', entry = '']) => {
      const file = join(outdir, `${name}.mjs`);
      await build({ ...bundleOptions, entryPoints: [entry], outfile: file });
      return { name, file };
    }),
  );
}

const loadingOf = (loader: string, file: string): Loading =>
  JSON.parse(execFileSync(process.execPath, [loader, file], { env: environment }).toString());

const print = (line: string) => process.stdout.write(`${line}\n`);

/**
 * Prints each function's bytes, the milliseconds that a fresh process takes to load it, and their
 * ratio to the document client's.
 */
async function main(directory: string): Promise<void> {
  const inDirectory = (name: string, code: string): string => {
    const file = join(directory, name);
    writeFileSync(file, code);
    return file;
  };
  const loader = inDirectory('load.mjs', load);
  const files = [
    {
      name: 'node:https',
      file: inDirectory('https.mjs', 'process.getBuiltinModule("node:https");'),
    },
    ...(await bundledFunctions(directory)),
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
    const figures = [
      ms.toFixed(1),
      (ms / unit.ms).toFixed(2),
      cpu.toFixed(1),
      (cpu / unit.cpu).toFixed(2),
    ];
    print(`| ${[name, bytes.toLocaleString('en-US'), ...figures].join(' | ')} |`);
  }
  const machine = `${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}`;
  print(`\nNode ${process.version}, ${machine}; the least of ${rounds}.`);
}

using directory = mkdtempDisposableSync(join(tmpdir(), 'login-service-bench-'));
await main(directory.path);
