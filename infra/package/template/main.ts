import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { version } from '../../version.ts';
import { assetFilesOf, stacksOf, synthesizeFor } from './assembly.ts';
import { openBucket } from './bucket.ts';
import { readTemplateLine, type TemplateLine, usage } from './command-line.ts';

try {
  const line = readTemplateLine(process.argv.slice(2));
  if (line === undefined) process.stdout.write(`${usage}\n`);
  else await publish(line);
} catch (error) {
  const [line] = String(error instanceof Error ? error.message : error).split('\n');
  process.stderr.write(`${line}\n`);
  process.exitCode = 1;
}

/** Uploads what the stacks of a deployment need, and prints what creates them. */
async function publish({ bucket: name, owner, context, settings }: TemplateLine): Promise<void> {
  const bucket = await openBucket({ bucket: name, owner, region: settings.region });
  const folder = mkdtempSync(join(tmpdir(), 'login-service-template-'));
  try {
    const assembly = synthesizeFor(name, settings, context, folder);
    await Promise.all(assetFilesOf(assembly).map(bucket.upload));
    const stacks = stacksOf(assembly, bucket);
    process.stdout.write(`${JSON.stringify({ version, stacks }, null, 2)}\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
