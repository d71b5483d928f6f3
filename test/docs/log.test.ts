import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { logEvents } from '../../lib/log-events.ts';

test('the page about the log lists exactly the events that the service writes, with their fields', () => {
  const page = readFileSync('docs/log.md', 'utf8');
  const rows = Object.entries(logEvents).map(
    ([event, { when, fields }]) => `| \`${event}\` | ${when} | ${fields} |`,
  );
  const listed = page
    .split('\n')
    .filter((line) => /^\| `\w+` \|.*\|.*\|$/.test(line) && line.split('|').length === 5);
  expect(listed).toEqual(rows);
});
