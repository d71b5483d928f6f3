#!/usr/bin/env node
import { nodeProblem } from './node-version.ts';
import { missingStartPackages } from './start-packages.ts';

const programs = new Map<string, () => Promise<unknown>>([
  ['operator', () => import('../operator/main.ts')],
  ['start', start],
  ['template', () => import('./template/main.ts')],
]);
// The rest of the words is for the program.
const [name = ''] = process.argv.splice(2, 1);
const run = programs.get(name);
const problem = nodeProblem();
if (problem !== undefined) fail(problem);
else if (run) await run();
else fail(`Usage: npx login-service ${[...programs.keys()].join('|')} …`);

async function start(): Promise<void> {
  const missing = missingStartPackages();
  if (missing === undefined) await import('../local/start.ts');
  else fail(missing);
}

function fail(problem: string): void {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
