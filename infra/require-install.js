import { existsSync, readFileSync } from 'node:fs';

// Runs before npm ci too, on whatever Node the machine has: so plain JavaScript, without packages.
const pathOf = (name) => new URL(`../${name}`, import.meta.url);
const problem = existsSync(pathOf('node_modules'))
  ? (missingPackage() ?? oldNode())
  : 'The packages are not installed yet. Run npm ci first.';
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}

/** The line about a package that an interrupted installation lacks. npm leaves out those that this machine has no use for. */
function missingPackage() {
  const { packages } = JSON.parse(readFileSync(pathOf('package-lock.json'), 'utf8'));
  const [path] =
    Object.entries(packages).find(
      ([path, { optional }]) =>
        !optional && !existsSync(pathOf(path ? `${path}/package.json` : 'package.json')),
    ) ?? [];
  return path && `The package ${path.replace(/^.*node_modules\//, '')} is missing. Run npm ci first.`;
}

/** The line for a machine whose own Node runs the scripts, and is too old. */
function oldNode() {
  const { node } = process.versions;
  return Number.parseInt(node, 10) < 24
    ? `The scripts need Node 24 or newer, and npm ci installs none for this machine (${process.platform}, ${process.arch}): its own is ${node}.`
    : undefined;
}
