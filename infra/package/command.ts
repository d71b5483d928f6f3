#!/usr/bin/env node
const programs = new Map([
  ['operator', () => import('../operator/main.ts')],
  ['start', () => import('../local/start.ts')],
  ['template', () => import('./template/main.ts')],
]);
// The rest of the words is for the program.
const [name = ''] = process.argv.splice(2, 1);
const run = programs.get(name);
if (run) await run();
else {
  process.stderr.write(`Usage: npx login-service ${[...programs.keys()].join('|')} …\n`);
  process.exitCode = 1;
}
