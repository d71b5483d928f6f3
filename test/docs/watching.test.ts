import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { metrics } from '../../lib/metrics.ts';

test('the page about watching lists exactly the metrics that the service writes', () => {
  const rows = Object.entries(metrics).map(([event, { name, by }]) =>
    `| \`${name}\` | \`${event}\` | ${by.join(', ')} |`.replace('|  |', '| |'),
  );
  const listed = readFileSync('docs/watching.md', 'utf8')
    .split('\n')
    .filter((line) => /^\| `\w+` \| `\w+` \|/.test(line));
  expect(listed).toEqual(rows);
});
