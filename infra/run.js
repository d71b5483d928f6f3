import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

// Runs the file that its first argument names, with the other arguments, once the packages are
// installed. Without a file, it only looks whether they are. It is plain JavaScript without
// packages, so any Node can run it, before npm ci too.
const { platform, arch, versions } = process;
if (!existsSync(new URL('../node_modules', import.meta.url)))
  fail('The packages are not installed yet. Run npm ci first.');
if (Number.parseInt(versions.node, 10) < 24)
  fail(
    `The scripts need Node 24 or newer, and npm ci installs none for this machine (${platform}, ${arch}): its own is ${versions.node}.`,
  );

const [file] = process.argv.splice(2, 1);
if (file !== undefined) await import(resolve(file));

function fail(problem) {
  process.stderr.write(`${problem}\n`);
  process.exit(1);
}
