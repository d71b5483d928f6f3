import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { lifetimeVariables, readSettings } from '../settings.ts';
import { bundledFunctions } from './bundled-functions.ts';

/** How often each is measured; the median counts. */
const rounds = 15;

interface Measured {
  name: string;
  file: string;
  /** Milliseconds, one per round. */
  times: number[];
}

/** Loads a file as Lambda's runtime does and prints the milliseconds that this took. */
const load = `
  const start = performance.now();
  await import(process.argv[2]);
  const milliseconds = performance.now() - start;
  process.stdout.write(String(milliseconds));
  process.exit();
`;

/** What a deployed function finds in its environment. */
const environment = {
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: 'x',
  AWS_SECRET_ACCESS_KEY: 'x',
  TABLE_NAME: 'x',
  ISSUER: 'https://x.example',
  ...lifetimeVariables(readSettings({})),
  SIGNING_KEYS_SECRET_ID: 'x',
  SERVICE_SECRET_ID: 'x',
};

const loadedIn = (loader: string, file: string): number =>
  Number(execFileSync(process.execPath, [loader, file], { env: environment }).toString());

const median = (times: number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;

/** Prints each function's bytes and the time that a fresh process takes to load it, beside what nothing takes. */
async function main(directory: string): Promise<void> {
  const yardstick = (name: string, code: string): Measured => {
    const file = join(directory, `${name.replace(/\W/g, '-')}.mjs`);
    writeFileSync(file, code);
    return { name, file, times: [] };
  };
  const loader = join(directory, 'load.mjs');
  writeFileSync(loader, load);
  const yardsticks = [
    yardstick('a handler that does nothing', 'export const handler = async () => {};'),
    yardstick('node:https', 'process.getBuiltinModule("node:https");'),
    yardstick(
      'node:https and node:crypto',
      'process.getBuiltinModule("node:https"); process.getBuiltinModule("node:crypto");',
    ),
  ];
  const functions = (await bundledFunctions(join(directory, 'cdk.out'))).map((bundle) => ({
    ...bundle,
    times: [],
  }));
  const all: Measured[] = [...yardsticks, ...functions];
  // One round after the other, so that what else the machine does meets all of them alike.
  for (let round = 0; round < rounds; round++)
    for (const one of all) one.times.push(loadedIn(loader, one.file));

  process.stdout.write('| Loaded | Bytes | ms | times node:https |\n|---|---:|---:|---:|\n');
  const unit = median(yardsticks[1]?.times ?? []);
  for (const { name, file, times } of all) {
    const bytes = statSync(file).size.toLocaleString('en-US');
    const milliseconds = median(times);
    process.stdout.write(
      `| ${name} | ${bytes} | ${milliseconds.toFixed(1)} | ${(milliseconds / unit).toFixed(1)} |\n`,
    );
  }
  const machine = `${cpus().length} x ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}`;
  process.stdout.write(`\nNode ${process.version}, ${machine}; medians of ${rounds}.\n`);
}

const directory = mkdtempSync(join(tmpdir(), 'login-service-bench-'));
try {
  await main(directory);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
