import { existsSync } from 'node:fs';

// Plain JavaScript without packages: it runs before npm ci, on any Node.
const { platform, arch, versions } = process;
if (!existsSync(new URL('../node_modules', import.meta.url)))
  fail('The packages are not installed yet. Run npm ci first.');
else if (Number.parseInt(versions.node, 10) < 24)
  fail(
    `The scripts need Node 24 or newer, and npm ci installs none for this machine (${platform}, ${arch}): its own is ${versions.node}.`,
  );

function fail(problem) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
