import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { ownService, scratchFolder } from '../support/own-service.ts';
import { startService } from '../support/start-service.ts';

const folder = scratchFolder();

/** A file of the developer's; its path. */
function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const wrong = write(
  'wrong.mjs',
  'export const a = 1;\nexport const handler = async () => { const b = ; };\n',
);
const gone = join(folder, 'gone.mjs');
const loadErrors: [string, string, string][] = [
  [
    'no handler',
    write('other-name.mjs', 'export const hander = async () => ({});\nexport default 1;\n'),
    ' exports no function named handler. It exports default, hander.',
  ],
  [
    'a handler that is no function',
    write('object.mjs', 'export const handler = {};\n'),
    ' exports no function named handler. It exports nothing.',
  ],
  ['a syntax error', wrong, ` cannot be loaded: SyntaxError: Unexpected token ';' (${wrong}:2)`],
  [
    'a syntax error in a file that it imports',
    write('imports.mjs', "import './wrong.mjs';\nexport const handler = async () => ({});\n"),
    ` cannot be loaded: SyntaxError: Unexpected token ';' (${wrong}:2)`,
  ],
  [
    'an error while it loads',
    write('throws.mjs', "\n  throw new TypeError('no table');\n"),
    ` cannot be loaded: TypeError: no table (${join(folder, 'throws.mjs')}:2:9)`,
  ],
  ['a file that is not there', gone, ` names no file: there is no ${gone}.`],
];

test.each(loadErrors)('%s: the start says so, and where', async (_, file, problem) => {
  await expect(startService({ LOGIN_HOOK: file })).rejects.toThrow(
    `The service did not start: LOGIN_HOOK=${file}${problem}`,
  );
});

const hook = write(
  'hook.mjs',
  `const findRoles = (user) => user.roles.length;
export const handler = async ({ identity }) => {
  if (identity.subject === 'slow') await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
  return { claims: { roles: findRoles({}) } };
};
`,
);
const { running, service } = await ownService({ LOGIN_HOOK: hook, LOGIN_HOOK_SECONDS: '1' });

test("the developer's own error is in the terminal, with its place in their file", async () => {
  expect((await service.logIn('alice')).status).toBe(500);
  expect(running.output()).toContain(
    `\nLOGIN_HOOK=${hook} failed: TypeError: Cannot read properties of undefined (reading 'length') (${hook}:1:40)\n`,
  );
});

test('a hook that does not answer is named, with the time that it had', async () => {
  expect((await service.logIn('slow')).status).toBe(500);
  // The service may have noticed before the terminal has.
  while (!running.output().includes(`\nLOGIN_HOOK=${hook} did not answer within 1 s.\n`))
    await wait(20);
});
