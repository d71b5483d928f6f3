import { existsSync, readFileSync } from 'node:fs';

// Runs before npm ci too, on whatever Node the machine has: so plain JavaScript, without packages.
const pathOf = (name) => new URL(`../${name}`, import.meta.url);
const problem = existsSync(pathOf('node_modules/.bin/node'))
  ? missingPackage()
  : 'The packages are not installed yet.';
if (problem !== undefined) {
  process.stderr.write(`${problem} Run npm ci first.\n`);
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
  return path && `The package ${path.replace(/^.*node_modules\//, '')} is missing.`;
}
