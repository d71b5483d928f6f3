import { existsSync } from 'node:fs';

// Runs before npm ci too, on whatever Node the machine has: so plain JavaScript, without packages.
if (!existsSync(new URL('../node_modules/.bin/node', import.meta.url))) {
  process.stderr.write('The packages are not installed yet. Run npm ci first.\n');
  process.exitCode = 1;
}
