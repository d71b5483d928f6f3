import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';

/** Converts an export of Auth0 with one user, who has these ids at Facebook. */
function convert(ids: string[]) {
  const identities = ids.map((id) => `{"provider":"facebook","user_id":${id}}`);
  const input = `{"user_id":"facebook|1","email":"carol@example.com","identities":[${identities}]}\n`;
  const script = 'docs/examples/import/from-auth0.mjs';
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
    input,
    encoding: 'utf8',
  });
  const lines = stdout.split('\n').filter(Boolean);
  const subjects = lines.map((line) => JSON.parse(line).subject);
  return { status, subjects, stderr };
}

test('ids of Auth0 may be texts, and numbers that no reader rounds', () => {
  const largest = '9007199254740991';
  expect(convert(['"10211234567890123"', largest])).toEqual({
    status: 0,
    subjects: ['10211234567890123', largest],
    stderr: '',
  });
});

test('an id of Auth0 that was rounded becomes nobody', () => {
  const { status, subjects, stderr } = convert(['10211234567890123', '1e400', '7']);
  expect([status, subjects]).toEqual([1, ['7']]);
  expect(stderr).toContain(
    'Left out: the user_id of facebook|1 at facebook is a number that was rounded; export it as text.',
  );
});
